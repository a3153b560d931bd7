import type { Metadata } from '@grpc/grpc-js'
import { toServiceError } from './errors.ts'

/** Users by name. Without any, everybody may do everything, as on an insecure server. */
export type Users = Readonly<Record<string, { readonly password: string; readonly mayWrite?: boolean }>>

/** Throws unless the credentials of a call are valid and its user may read, or also write. */
export function checkAccess(users: Users | undefined, metadata: Metadata, operation: 'read' | 'write'): void {
  if (users === undefined) return
  const [header] = metadata.get('authorization')
  const basic = Buffer.from(String(header ?? '').replace(/^Basic /, ''), 'base64').toString()
  const separator = basic.indexOf(':')
  const user = users[basic.slice(0, separator)]
  if (user === undefined || user.password !== basic.slice(separator + 1))
    throw toServiceError('unauthenticated')
  if (operation === 'write' && user.mayWrite === false) throw toServiceError('access-denied')
}

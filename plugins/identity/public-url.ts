import type { IncomingHttpHeaders } from 'node:http'
import { identityError } from './errors.ts'
import type { ConsoleSettings } from './settings.ts'

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/

/**
 * The address of the gateway for browsers, without a slash at the end. Only a name of this machine is taken
 * from the header `host`, which the client chooses; throws 400 for any other. See
 * docs/decisions/console.md, "The identity provider sends browsers to the address of the settings".
 */
export function publicUrlOf({ url }: Pick<ConsoleSettings, 'url'>, { host = '' }: IncomingHttpHeaders) {
  if (url !== undefined) return url.replace(/\/+$/, '')
  if (LOOPBACK.test(host)) return `http://${host}`
  const message = 'The console cannot be signed in to at this address: set identity.console.url to it.'
  throw identityError('sign_in_failed', message)
}

/** Pages that must not be returned to: they would sign in again, or out. */
const ENDPOINTS = ['/console/login', '/console/callback', '/console/logout']

/** Returns the path, query and fragment of a page of the console. Throws 400 for anything else. */
export function checkReturnTo(returnTo: string): string {
  const isPath = /^\/console\/[\x21-\x5b\x5d-\x7e]*$/.test(returnTo)
  const { pathname, search, hash } = new URL(isPath ? returnTo : '/', 'http://gateway.invalid')
  if (pathname.startsWith('/console/') && !ENDPOINTS.includes(pathname)) return pathname + search + hash
  throw identityError('sign_in_failed', 'return_to must be the path of a page below /console/.')
}

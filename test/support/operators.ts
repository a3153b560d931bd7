import { type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'

/** An operator of a gateway under test. */
export interface TestOperator {
  readonly id: string
  readonly key: string
  readonly headers: { readonly authorization: string }
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export async function newOperator(
  gateway: RunningGateway,
  role: 'admin' | 'editor' | 'auditor',
  name = 'Grace',
  terms: { readonly scope?: { readonly groups: readonly number[] }; readonly expires_at?: string } = {},
): Promise<TestOperator> {
  const { body } = await gateway.call('POST', '/admin/operators', { name, role, ...terms }, AS_ADMIN)
  const { id, key } = body.data
  const headers = { authorization: `Bearer ${key}` }
  return {
    id,
    key,
    headers,
    call: (method, path, content, more = {}) => gateway.call(method, path, content, { ...headers, ...more }),
  }
}

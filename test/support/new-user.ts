import { ADMIN_KEY, type Answer, type RunningGateway } from './gateway.ts'
import { sendRequest } from './send-request.ts'

/** A user of their own, so that tests do not see each other's rules. */
export interface TestUser {
  readonly id: number
  readonly keyId: string
  readonly key: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** `POST /route` on the direct-routing address. */
  route(body: unknown): Promise<Answer>
  setPlan(plan: string): Promise<Answer>
  issueKey(): Promise<{ id: string; key: string }>
  revokeKey(id: string): Promise<Answer>
}

export async function newUser(gateway: RunningGateway, plan = 'paid', name = 'someone'): Promise<TestUser> {
  const admin = { authorization: `Bearer ${ADMIN_KEY}` }
  const user = await gateway.call('POST', '/admin/users', { name, plan }, admin)
  const id: number = user.body.data.id
  const issueKey = async () =>
    (await gateway.call('POST', `/admin/users/${id}/keys`, undefined, admin)).body.data
  const { id: keyId, key } = await issueKey()
  const authorization = `Bearer ${key}`
  return {
    id,
    keyId,
    key,
    call: (method, path, body, headers = {}) =>
      gateway.call(method, path, body, { authorization, ...headers }),
    async route(body) {
      const { text, ...response } = await sendRequest(`${gateway.routeUrl}/route`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { ...response, body: JSON.parse(text) }
    },
    setPlan: (plan) => gateway.call('PATCH', `/admin/users/${id}`, { plan }, admin),
    issueKey,
    revokeKey: (id) => gateway.call('DELETE', `/admin/keys/${id}`, undefined, admin),
  }
}

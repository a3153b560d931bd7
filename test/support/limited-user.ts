import { type Answer, AS_ADMIN, type RunningGateway } from './gateway.ts'
import { newUser } from './new-user.ts'

/** Creates a user for tests of the rate limit. */
export async function addLimitedUser(gateway: RunningGateway, plan: string) {
  const { id, key } = await newUser(gateway, plan)
  const headers = { authorization: `Bearer ${key}` }
  return {
    id,
    headers,
    change: (change: object) => gateway.call('PATCH', `/admin/users/${id}`, change, AS_ADMIN),
    get: (at = gateway) => at.call('GET', '/v1/models', undefined, headers),
    chat: (body: object = {}) =>
      gateway.call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...body },
        headers,
      ),
  }
}

export type LimitedUser = Awaited<ReturnType<typeof addLimitedUser>>

/** The rate-limit headers of a response; null for those it lacks. */
export const limitHeaders = ({ headers }: Answer) => ({
  limit: headers.get('x-ratelimit-limit-requests'),
  remaining: headers.get('x-ratelimit-remaining-requests'),
  reset: headers.get('x-ratelimit-reset-requests'),
})

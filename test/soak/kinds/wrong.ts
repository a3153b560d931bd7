import type { Ask } from '../client.ts'
import { must, mustBe, mustEqual } from '../expect.ts'
import { BODY_LIMIT } from '../servers/settings.ts'
import type { Kind, World } from '../world.ts'

interface Mistake extends Ask {
  readonly status: number
  /** Part of the error message. */
  readonly says: string
  /** Whether the request has a valid key. Default: true. */
  readonly known?: boolean
}

const CHAT = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Hello' }]

/** Invalid requests and their errors. */
const MISTAKES: readonly Mistake[] = [
  { path: CHAT, body: { messages }, known: false, status: 401, says: 'Missing API key' },
  { path: CHAT, body: { messages }, key: 'tr_nobody', status: 401, says: 'Invalid API key' },
  { path: '/v1/routing-rules', key: 'tr_nobody', status: 401, says: 'Invalid API key' },
  {
    path: '/route',
    body: { prompt: 'Hi' },
    direct: true,
    key: 'tr_nobody',
    status: 401,
    says: 'Invalid API key',
  },
  { path: '/admin/users', key: 'not-the-admin-key', status: 401, says: '' },
  { path: CHAT, body: '{"model": "auto", "messages": [', status: 400, says: 'not valid JSON' },
  { path: CHAT, body: '[]', status: 400, says: 'must be a JSON object' },
  { path: CHAT, body: { model: 'auto' }, status: 400, says: 'messages' },
  { path: CHAT, body: { messages, temperature: 9 }, status: 400, says: 'temperature' },
  { path: CHAT, body: { messages, n: 2 }, status: 400, says: 'n' },
  { path: CHAT, body: { messages, model: 'no-such-model' }, status: 404, says: 'no-such-model' },
  { path: '/v1/responses', body: {}, status: 400, says: 'input' },
  {
    path: '/v1/responses',
    body: { input: 'Hi', previous_response_id: 'resp_x' },
    status: 400,
    says: 'resp_x',
  },
  { path: '/v1/responses/resp_000000000000000000000000', status: 404, says: 'was not found or has expired' },
  { path: '/route', body: {}, direct: true, status: 400, says: 'prompt' },
  { path: '/v1/routing-rules', body: { name: 'x' }, status: 400, says: 'is_enabled' },
  { path: '/v1/routing-rules/999999999', status: 404, says: '' },
  { path: '/v1/audit?kinds=routing', status: 400, says: 'kinds' },
  { path: CHAT, method: 'GET', status: 405, says: 'does not support GET' },
  { path: '/no/such/path', status: 404, says: 'no/such/path' },
  { path: CHAT, body: 'x'.repeat(BODY_LIMIT + 1), status: 413, says: 'exceeds the limit' },
]

async function mistake({ client, chance, people }: World): Promise<string> {
  const { status, says, known = true, ...ask } = chance.pick(MISTAKES)
  const key = known ? chance.pick(people).key : undefined
  const got = await client.ask({ ...(key && { key }), ...ask })
  mustBe(got, status)
  must(String(got.body?.error?.message).includes(says), () => `the error does not say "${says}": ${got.text}`)
  mustEqual(/^req_/.test(got.requestId), true, 'an error has a request id, which')
  return String(status)
}

export const wrongKinds: readonly Kind[] = [{ name: 'mistakes of clients', weight: 4, run: mistake }]

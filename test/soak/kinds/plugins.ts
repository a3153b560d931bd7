import { readText } from '../client.ts'
import { must, mustEqual } from '../expect.ts'
import { CHAT_WAYS, ENDPOINT_WAYS } from '../servers/misbehaving-plugin.ts'
import { speak } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { chatBody } from './chat.ts'

/** A plugin misbehaves in one request, which fails, whole or streamed. */
async function misbehave(world: World): Promise<string> {
  const { chance, client, tally } = world
  const way = chance.pick([...CHAT_WAYS, ...ENDPOINT_WAYS])
  const person = chance.pick(world.people)
  const body = chatBody(speak(world, { feature: 'none', person, words: 10 }), 'auto', {
    stream: chance.chance(0.5),
  })
  const chat = { path: '/v1/chat/completions', body }
  const asked = ENDPOINT_WAYS.includes(way) ? { path: '/v1/misbehaving' } : chat
  const { requestId, bytes } = await client.open({ key: person.key, headers: { 'x-way': way }, ...asked })
  tally.explain(requestId)
  // A stream that fails ends without its last chunk.
  const text = await readText(bytes).catch(() => 'internal_error')
  const failed = text.includes('internal_error') || text.includes('The gateway failed')
  must(failed, () => `${requestId} with ${way} did not fail: ${text}`)
  mustEqual(text.includes('[DONE]'), false, `${way} ended as a whole, which`)
  return way
}

export const pluginKinds: readonly Kind[] = [{ name: 'misbehaving plugin', weight: 3, run: misbehave }]

import { setTimeout as delay } from 'node:timers/promises'
import { MODELS } from '../../support/providers.ts'
import { readText } from '../client.ts'
import { must, mustBe, mustEqual } from '../expect.ts'
import { speak } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { chatBody } from './chat.ts'

/** Disconnects while the provider has not replied, or while the request is being sent. */
async function leaveBeforeTheFirstByte(world: World): Promise<string> {
  const said = speak(world, { marker: 'first-byte=2000' })
  const stream = world.chance.chance(0.5)
  const body = chatBody(said, world.chance.pick(['auto', ...Object.values(MODELS)]), { stream })
  const leave = new AbortController()
  const timer = setTimeout(() => leave.abort(), world.chance.integer(400))
  const path = '/v1/chat/completions'
  try {
    const got = await world.client.ask({ path, key: said.person.key, body, signal: leave.signal })
    mustBe(got, 200)
    return 'answered before it left'
  } catch (error) {
    if (!leave.signal.aborted) throw error
    return 'left'
  } finally {
    clearTimeout(timer)
  }
}

/** Disconnects in mid-stream. A response that is stored becomes `cancelled`. */
async function leaveInMidStream(world: World): Promise<string> {
  const said = speak(world, { words: 40, marker: 'token-delay=60', feature: 'none' })
  const { key } = said.person
  const isResponse = world.chance.chance(0.5)
  const model = world.chance.pick(Object.values(MODELS))
  const path = isResponse ? '/v1/responses' : '/v1/chat/completions'
  const body = isResponse
    ? { model, input: said.prompt, stream: true }
    : chatBody(said, model, { stream: true })
  const leave = new AbortController()
  const opened = await world.client.open({ path, key, body, signal: leave.signal })
  if (opened.status !== 200) mustBe({ ...opened, text: await readText(opened.bytes), body: undefined }, 200)
  let left = 3
  try {
    for await (const _ of opened.bytes) if (--left === 0) leave.abort()
  } catch (error) {
    if (!leave.signal.aborted) throw error
  }
  must(leave.signal.aborted, () => `${opened.requestId} ended before its client left`)
  if (isResponse) await mustBeCancelled(world, opened.requestId, key)
  return isResponse ? 'left, and kept as cancelled' : 'left'
}

const PATIENCE_MS = 5000

async function mustBeCancelled({ client }: World, requestId: string, key: string): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const got = await client.ask({ path: `/v1/responses/${requestId}`, key })
    if (got.status === 200) return mustEqual(got.body.status, 'cancelled', `the status of ${requestId}`)
    // Until the gateway has noticed, the response is in progress.
    mustBe(got, 409, 404)
    must(performance.now() - begun < PATIENCE_MS, () => `${requestId} is not kept: ${got.text}`)
    await delay(50)
  }
}

export const leavingKinds: readonly Kind[] = [
  { name: 'client leaves before the first byte', weight: 2, run: leaveBeforeTheFirstByte },
  { name: 'client leaves in mid-stream', weight: 2, run: leaveInMidStream },
]

import { readText } from '../client.ts'
import { must, mustBe, mustEqual } from '../expect.ts'
import { FLAKY_FORMATS } from '../servers/settings.ts'
import { speak } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { mustAnswer, sandboxText } from './answer.ts'
import { chatBody } from './chat.ts'
import { completed, extensions, readChatStream } from './chat-stream.ts'

/**
 * A provider fault and its possible outcomes. `broken` is a stream that ends with an error record.
 */
interface Fault {
  readonly marker: string
  readonly stream?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly effects: readonly (number | 'answered' | 'broken')[]
}

const WHOLE: readonly Fault[] = [
  { marker: 'status=500', effects: [502] },
  { marker: 'status=503', effects: [503] },
  { marker: 'status=529', effects: [503] },
  { marker: 'status=429 retry-after=7', effects: [429] },
  { marker: 'status=401', effects: [502] },
  { marker: 'status=400', effects: [400] },
  { marker: 'hang', effects: [504] },
  { marker: 'cut=0', effects: [502] },
  { marker: 'malformed', effects: [502] },
  { marker: 'first-byte=700', effects: ['answered'] },
]

/**
 * If the provider's records and the fault arrive together, the stream may fail before it starts.
 */
const STREAMED: readonly Fault[] = [
  { marker: 'status=500', effects: [502] },
  { marker: 'error-first', effects: [502] },
  { marker: 'hang', effects: [504] },
  { marker: 'cut=0', effects: [502] },
  { marker: 'cut=6 token-delay=15', effects: ['broken', 502] },
  { marker: 'eof=6 token-delay=15', effects: ['broken', 502] },
  { marker: 'error-mid=6 token-delay=15', effects: ['broken', 502] },
  { marker: 'malformed token-delay=5', effects: ['broken', 502] },
  { marker: 'token-delay=9000', effects: ['broken', 504] },
  { marker: 'first-byte=700', effects: ['answered'] },
]

const FAULTS: readonly Fault[] = [...WHOLE, ...STREAMED.map((fault) => ({ ...fault, stream: true }))]

/** Enough model names per provider that requests for the same name rarely overlap. */
const LANES = 40

/** Transient faults: the retry or the next model succeeds. */
const PASSING: readonly Fault[] = [
  'status=500',
  'status=503',
  'status=429 retry-after=0',
  'malformed',
  'error-first',
].map((marker) => ({ marker, effects: ['answered'] }))

/**
 * Transient faults after which the provider may execute the request nevertheless: it is sent again if the
 * caller asks for that. A connection that ends may also have been closed while it was idle.
 */
const UNANSWERED: readonly Fault[] = [
  { marker: 'cut=0', effects: ['answered', 502] },
  { marker: 'hang', effects: [504] },
]

const AGAIN = { 'x-retry-on-timeout': 'true' }

/**
 * Every second request for a model succeeds, so that no circuit opens and every fault has its own effect.
 * `turn` counts the requests.
 */
function createPinned(): Kind['run'] {
  let turn = 0
  return async (world) => {
    const at = turn++
    const [format, lane] = [FLAKY_FORMATS[at % FLAKY_FORMATS.length], Math.floor(at / FLAKY_FORMATS.length)]
    const fault = FAULTS[Math.floor(lane / (2 * LANES) + lane) % FAULTS.length]
    const isSound = Math.floor(lane / LANES) % 2 === 1
    const model = `flaky-${format}:lane-${lane % LANES}`
    if (fault === undefined || isSound) {
      const sound: Fault = { marker: 'first-byte=1', effects: ['answered'], stream: world.chance.chance(0.5) }
      return suffer(world, sound, model)
    }
    return `${fault.marker}${fault.stream ? ' (stream)' : ''}: ${await suffer(world, fault, model)}`
  }
}

/** Requests a fault and checks that it has one of its effects. */
async function suffer(world: World, fault: Fault, model: string, person = world.chance.pick(world.people)) {
  const { marker, stream = false, effects, headers = {} } = fault
  const said = speak(world, { marker, feature: 'none', person, words: 20 })
  const body = chatBody(said, model, { stream })
  const opened = await world.client.open({ path: '/v1/chat/completions', key: person.key, body, headers })
  const { status, requestId } = opened
  if (status >= 500) world.tally.explain(requestId)
  if (status !== 200 || !stream) {
    const text = await readText(opened.bytes)
    const got = { ...opened, text, body: JSON.parse(text) }
    mustBe(got, ...effects.map((effect) => (effect === 'answered' ? 200 : Number(effect))))
    if (status !== 200) {
      mustEqual(got.body.error.http_status, status, 'the status in the body')
      if (marker.includes('retry-after=7')) mustEqual(opened.headers['retry-after'], '7', 'retry-after')
      return String(status)
    }
    const telling = { text: got.body.choices[0].message.content, ...extensions(got.body) }
    mustAnswer(telling, said, model, requestId)
    return 'answered'
  }
  const read = await readChatStream(opened)
  if (effects.includes('answered')) {
    mustAnswer(completed(read, requestId), said, model, requestId)
    return 'answered'
  }
  must(
    effects.includes('broken') && read.error !== undefined,
    () => `${requestId} did not break off: ${read.text}`,
  )
  must(!read.done, () => `${requestId} said [DONE] after an error`)
  const whole = sandboxText(said.heard, read.first.model)
  must(whole.startsWith(read.text), () => `${requestId} broke off after another's text: ${read.text}`)
  return 'broke off with an error record'
}

/** Requests a transient fault: a fixed model is retried, an automatic choice fails over. */
async function recover(world: World): Promise<string> {
  const isAgain = world.chance.chance(0.5)
  const { marker: passing, effects } = world.chance.pick([...PASSING, ...UNANSWERED])
  const stream = world.chance.chance(0.5)
  const isPinned = world.chance.chance(0.3)
  const format = world.chance.pick(FLAKY_FORMATS)
  const model = isPinned
    ? `flaky-${format}:pass-${world.chance.integer(LANES)}`
    : world.chance.pick(['auto', 'auto:cost'])
  // Makes the marker unique, because the sandbox counts uses by marker.
  const marker = `${passing} times=1 code=${world.nonce()}`
  const fault: Fault = isAgain
    ? { marker, stream, effects: ['answered'], headers: AGAIN }
    : { marker, stream, effects }
  return suffer(world, fault, model)
}

/** Requests a fault of all models of a provider, so that there is no alternative. */
async function exhaust(world: World): Promise<string> {
  const stream = world.chance.chance(0.5)
  return suffer(world, { marker: 'status=500', stream, effects: [503] }, 'auto', world.unlucky)
}

export const faultKinds: readonly Kind[] = [
  { name: 'provider fault, pinned model', weight: 5, run: createPinned() },
  { name: 'provider fault that passes', weight: 2, run: recover },
  { name: 'provider fault, all models', weight: 0.5, run: exhaust },
]

import { setTimeout as delay } from 'node:timers/promises'
import { MODELS } from '../../support/providers.ts'
import { readText } from '../client.ts'
import { must, mustBe, mustEqual } from '../expect.ts'
import { type Said, speak, type Wish } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { mustAnswer } from './answer.ts'
import { completed, extensions, readChatStream } from './chat-stream.ts'

const PATH = '/v1/chat/completions'

/** One model of every provider, and all modes. */
const ASKED = [
  ...Object.values(MODELS),
  ...Object.entries(MODELS).map(([provider, model]) => `${provider}:${model}`),
  ...['auto', 'auto:fast', 'auto:balance', 'auto:cost', 'auto:quality'],
]

/** The share of clients that open a connection for every request. */
const FRESH = 0.08

export function chatBody({ prompt }: Said, model: string, more: object = {}) {
  return { model, messages: [{ role: 'user', content: prompt }], ...more }
}

async function whole(world: World, wish: Wish, asked = world.chance.pick(ASKED)): Promise<string> {
  const said = speak(world, wish)
  const fresh = world.chance.chance(FRESH)
  const got = await world.client.ask({ path: PATH, key: said.person.key, body: chatBody(said, asked), fresh })
  mustBe(got, 200)
  const [choice] = got.body.choices
  mustEqual(choice.finish_reason, 'stop', `the finish of ${got.requestId}`)
  mustAnswer({ text: choice.message.content, ...extensions(got.body) }, said, asked, got.requestId)
  return 'answered'
}

async function streamed(
  world: World,
  wish: Wish,
  asked = world.chance.pick(ASKED),
  pause?: () => Promise<void>,
): Promise<string> {
  const said = speak(world, wish)
  const more = { stream: true, ...(world.chance.chance(0.5) && { stream_options: { include_usage: true } }) }
  const body = chatBody(said, asked, more)
  const fresh = world.chance.chance(FRESH)
  const opened = await world.client.open({ path: PATH, key: said.person.key, body, fresh })
  if (opened.status !== 200) mustBe({ ...opened, text: await readText(opened.bytes), body: undefined }, 200)
  const stream = await readChatStream(opened, pause)
  mustAnswer(completed(stream, opened.requestId), said, asked, opened.requestId)
  return 'streamed to the end'
}

async function blocked(world: World): Promise<string> {
  const said = speak(world, { feature: 'block' })
  const stream = world.chance.chance(0.3)
  const body = chatBody(said, 'auto', { stream })
  const got = await world.client.ask({ path: PATH, key: said.person.key, body })
  mustBe(got, 403)
  mustEqual(got.body.error.meta.rule_id, said.person.rules[said.blockedBy ?? ''], 'the rule that blocks')
  return '403 as the rule says'
}

async function callingTools(world: World): Promise<string> {
  const said = speak(world, { feature: 'none', words: 5 })
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
  const body = { ...chatBody(said, world.chance.pick(Object.values(MODELS))), tools, tool_choice: 'required' }
  const got = await world.client.ask({ path: PATH, key: said.person.key, body })
  mustBe(got, 200)
  const [choice] = got.body.choices
  mustEqual(choice.finish_reason, 'tool_calls', `the finish of ${got.requestId}`)
  const call = choice.message.tool_calls[0].function
  mustEqual(`${call.name} ${call.arguments}`, 'get_weather {"city":"sample city"}', 'the call')
  return 'tool called'
}

/** Reads a response slowly that is larger than the buffers of sockets and streams. */
async function readSlowly(world: World): Promise<string> {
  let pieces = 0
  const wish = { bytes: 1_500_000, feature: 'none' }
  const effect = await streamed(world, wish, MODELS.openai, async () => {
    pieces++
    await delay(25)
  })
  must(pieces > 5, () => `an answer of 1.5 MB came in ${pieces} pieces`)
  return effect
}

const some = (world: World, least: number, most: number) => least + world.chance.integer(most - least)

export const chatKinds: readonly Kind[] = [
  { name: 'chat, whole', weight: 26, run: (world) => whole(world, {}) },
  {
    name: 'chat, whole, 20 to 100 KB',
    weight: 3,
    run: (world) => whole(world, { bytes: some(world, 2e4, 1e5) }),
  },
  { name: 'chat, stream of up to 40 records', weight: 14, run: (world) => streamed(world, {}) },
  {
    name: 'chat, stream of 100 records',
    weight: 4,
    run: (world) => streamed(world, { words: some(world, 80, 300) }),
  },
  {
    name: 'chat, stream of 20 to 100 KB',
    weight: 1,
    run: (world) => streamed(world, { bytes: some(world, 2e4, 1e5) }),
  },
  {
    name: 'chat, stream over seconds',
    weight: 3,
    run: (world) => streamed(world, { words: 30, marker: `token-delay=${some(world, 20, 80)}` }),
  },
  {
    name: 'chat, stream with comments and CRLF',
    weight: 1,
    run: (world) => streamed(world, { marker: 'comments crlf' }, `openai:${MODELS.openai}`),
  },
  { name: 'chat, read slowly, 1.5 MB', weight: 0.15, run: readSlowly },
  { name: 'chat, blocked', weight: 3, run: blocked },
  { name: 'chat, tools', weight: 2, run: callingTools },
]

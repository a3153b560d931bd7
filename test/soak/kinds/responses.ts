import { MODELS } from '../../support/providers.ts'
import { type Got, type Loose, readRecords, readText } from '../client.ts'
import { must, mustBe, mustEqual, mustMatch } from '../expect.ts'
import { type Said, speak } from '../speak.ts'
import type { Kind, World } from '../world.ts'
import { mustAnswer } from './answer.ts'

const PATH = '/v1/responses'
const ASKED = [...Object.values(MODELS), 'auto', 'auto:cost', 'auto:fast']

/** Returns the text of a response. */
export const textOf = ({ output }: Loose): string =>
  output
    .flatMap(({ content }: Loose) => content ?? [])
    .map(({ text }: Loose) => text ?? '')
    .join('')

async function create(world: World, said: Said, more: object = {}): Promise<Got> {
  const asked = world.chance.pick(ASKED)
  const body = { model: asked, input: said.prompt, ...more }
  const got = await world.client.ask({ path: PATH, key: said.person.key, body })
  mustBe(got, 200)
  mustRespond(got.body, said, 'model' in more ? String(more.model) : asked, got.requestId, 'store' in more)
  return got
}

/** Checks that the response belongs to the prompt, and records it as stored. */
function mustRespond(response: Loose, said: Said, asked: string, requestId: string, unstored: boolean): void {
  const { model, signalbox, status, id } = response
  mustEqual(status, 'completed', `the status of ${requestId}`)
  mustEqual(id.slice('resp_'.length), requestId.slice('req_'.length), 'the seed of the id')
  mustEqual(response.store, !unstored, `what ${requestId} says about storing`)
  const { provider, routing_mode: mode } = signalbox
  const told = { text: textOf(response), model, provider, mode, requestId: response.x_request_id, signalbox }
  mustAnswer(told, said, asked, requestId)
}

async function store(world: World): Promise<string> {
  const said = speak(world)
  const { body } = await create(world, said)
  world.stored.keep(body.id, said.person, textOf(body))
  return 'stored'
}

async function leaveUnstored(world: World): Promise<string> {
  const said = speak(world)
  const { body } = await create(world, said, { store: false })
  world.stored.forget(body.id, said.person)
  return 'answered'
}

/** Returns the records of a streamed response without fields that differ between replays. */
async function readStream(bytes: AsyncIterable<Uint8Array>): Promise<readonly Loose[]> {
  const records: Loose[] = []
  for await (const { event, data } of readRecords(bytes)) {
    const record = JSON.parse(data)
    mustEqual(record.type, event, 'the type of a record')
    mustEqual(record.sequence_number, records.length, 'the number of a record')
    records.push(record)
  }
  return records
}

async function stream(world: World): Promise<string> {
  const said = speak(world, { ...(world.chance.chance(0.3) && { marker: 'token-delay=10' }) })
  const asked = world.chance.pick(ASKED)
  const { key } = said.person
  const opened = await world.client.open({
    path: PATH,
    key,
    body: { model: asked, input: said.prompt, stream: true },
  })
  if (opened.status !== 200) mustBe({ ...opened, text: await readText(opened.bytes), body: undefined }, 200)
  const records = await readStream(opened.bytes)
  const { type, response } = records.at(-1) ?? {}
  mustEqual(type, 'response.completed', `the end of ${opened.requestId}`)
  mustRespond(response, said, asked, opened.requestId, false)
  const deltas = records.filter((record) => record.type === 'response.output_text.delta')
  mustEqual(deltas.map(({ delta }) => delta).join(''), textOf(response), 'the deltas, together,')
  world.stored.keep(response.id, said.person, textOf(response))
  if (world.chance.chance(0.8)) return 'streamed and stored'

  const replayed = await world.client.open({ path: `${PATH}/${response.id}`, key, body: { stream: true } })
  const again = await readStream(replayed.bytes)
  mustMatch(again.map(withoutId), records.map(withoutId), `the replay of ${response.id}`)
  return 'streamed, stored and replayed'
}

function withoutId(record: Loose): Loose {
  if (record.response === undefined) return record
  const { x_request_id: _, ...response } = record.response
  return { ...record, response }
}

/** Sends three turns. The token counts show that each includes the earlier ones. */
async function converse(world: World): Promise<string> {
  let previous_response_id: string | undefined
  let tokens = 0
  let heard = ''
  const { person } = speak(world)
  for (let turn = 0; turn < 3; turn++) {
    const said = speak(world, { person, feature: 'none', words: 12 })
    const { body } = await create(world, said, { model: MODELS.openai, previous_response_id })
    world.stored.keep(body.id, person, textOf(body))
    heard += said.heard
    must(
      body.usage.input_tokens >= Math.ceil(Buffer.byteLength(heard) / 4),
      () => `turn ${turn} lacks earlier ones`,
    )
    must(body.usage.input_tokens > tokens, () => `turn ${turn} is not longer than the one before`)
    tokens = body.usage.input_tokens
    heard += textOf(body)
    previous_response_id = body.id
  }
  return 'three turns'
}

async function replay(world: World): Promise<string> {
  const said = speak(world)
  const created = await create(world, said)
  const { key } = said.person
  const path = `${PATH}/${world.chance.chance(0.5) ? created.body.id : created.requestId}`
  const again = await world.client.ask({ method: 'POST', path, key })
  mustBe(again, 200)
  mustMatch(
    { ...again.body, x_request_id: '' },
    { ...created.body, x_request_id: '' },
    `the replay of ${path}`,
  )
  const read = await world.client.ask({ path, key })
  mustBe(read, 200)
  mustMatch(read.body, created.body, `what is stored at ${path}`)
  const others = world.people.find(({ id }) => id !== said.person.id)
  mustBe(await world.client.ask({ path, ...(others && { key: others.key }) }), 404)
  if (world.chance.chance(0.5)) {
    world.stored.keep(created.body.id, said.person, textOf(created.body))
    return 'replayed'
  }
  mustBe(await world.client.ask({ method: 'DELETE', path, key }), 200)
  mustBe(await world.client.ask({ path, key }), 404)
  world.stored.forget(created.body.id, said.person)
  return 'replayed and deleted'
}

export const responseKinds: readonly Kind[] = [
  { name: 'responses, stored', weight: 7, run: store },
  { name: 'responses, store false', weight: 2, run: leaveUnstored },
  { name: 'responses, streamed and stored', weight: 5, run: stream },
  { name: 'responses, continued', weight: 1.5, run: converse },
  { name: 'responses, replayed', weight: 1.5, run: replay },
]

import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/index.ts'
import { loadConversation, resolveReferences } from '../../../../plugins/responses/conversation.ts'
import type { StoredResponse } from '../../../../plugins/responses/store.ts'

const keyOf = (n: number) => String(n).repeat(24)

const turn = (n: number, previous: number | null, more: object = {}): StoredResponse => ({
  form: 'openai',
  input: [{ role: 'user', content: `question ${n}` }],
  response: {
    id: `resp_${keyOf(n)}`,
    status: 'completed',
    previous_response_id: previous === null ? null : `resp_${keyOf(previous)}`,
    output: [
      {
        id: `msg_${keyOf(n)}00`,
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: `answer ${n}` }],
      },
    ],
    ...more,
  },
})

const find = (stored: Readonly<Record<number, StoredResponse>>) => async (wanted: string) =>
  Object.entries(stored).find(([n]) => keyOf(Number(n)) === wanted)?.[1]

const load = (from: number, stored: Readonly<Record<number, StoredResponse>>) =>
  loadConversation({ input: 'x', previous_response_id: `resp_${keyOf(from)}` }, find(stored))

describe('loading a conversation', () => {
  it('returns no messages without a previous response', async () => {
    expect(await loadConversation({ input: 'x' }, find({}))).to.deep.equal([])
  })

  it('returns the messages of all turns, oldest first', async () => {
    const messages = await load(3, { 1: turn(1, null), 2: turn(2, 1), 3: turn(3, 2) })
    expect(messages.map(({ content }) => content)).to.deep.equal([
      'question 1',
      'answer 1',
      'question 2',
      'answer 2',
      'question 3',
      'answer 3',
    ])
  })

  it('continues an incomplete response', async () => {
    expect(await load(1, { 1: turn(1, null, { status: 'incomplete' }) })).to.have.length(2)
  })

  for (const { previous, stored, reason } of [
    {
      previous: 'an unknown response',
      stored: {},
      reason: 'it was not found, has expired or was not completed',
    },
    {
      previous: 'a failed response',
      stored: { 2: turn(2, null, { status: 'failed' }) },
      reason: 'it was not found, has expired or was not completed',
    },
    {
      previous: 'a response whose earlier turn has expired',
      stored: { 2: turn(2, 1) },
      reason: `the earlier response resp_${keyOf(1)} was not found`,
    },
  ]) {
    it(`returns 400 for ${previous}`, async () => {
      const error = await Promise.resolve(load(2, stored)).then(
        () => expect.fail(),
        (error) => error,
      )
      expect(error).to.be.instanceOf(GatewayError)
      expect(error).to.include({ status: 400, wireCode: 'previous_response_not_found' })
      expect(error.message).to.contain(reason)
    })
  }
})

/** Ten million characters, in one string for all. */
const LONG = 'x'.repeat(10_000_000)

const rejection = (work: unknown): Promise<GatewayError> =>
  Promise.resolve(work).then(
    () => expect.fail(),
    (error) => error,
  )

describe('the limit of what a request loads', () => {
  const long = (n: number, previous: number | null): StoredResponse => ({
    ...turn(n, previous),
    input: [{ role: 'user', content: LONG }],
  })

  it('ends a conversation of many long turns', async () => {
    const stored = Object.fromEntries(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => [n, long(n, n === 1 ? null : n - 1)]),
    )
    let loaded = 0
    const counted = (key: string) => {
      loaded += 1
      return find(stored)(key)
    }
    const body = { input: 'x', previous_response_id: `resp_${keyOf(9)}` }
    const error = await rejection(loadConversation(body, counted))
    expect(error).to.include({ status: 413, code: 'body_too_large' })
    expect(error.details.param).to.equal('previous_response_id')
    expect(loaded).to.equal(7)
    expect(await load(6, stored)).to.have.length(12)
  })

  it('counts each reference to an item, and loads its response once', async () => {
    const output = [{ id: `msg_${keyOf(1)}00`, type: 'message', role: 'assistant', content: LONG }]
    let loaded = 0
    const counted = (key: string) => {
      loaded += 1
      return find({ 1: turn(1, null, { output }) })(key)
    }
    const referring = (times: number) => ({
      input: Array.from({ length: times }, () => ({ type: 'item_reference', id: `msg_${keyOf(1)}00` })),
    })
    expect((await resolveReferences(referring(5), counted)).input).to.have.length(5)
    expect(await rejection(resolveReferences(referring(1000), counted))).to.include({ status: 413 })
    expect(loaded).to.equal(2)
  })
})

describe('resolving item references', () => {
  const reference = (id: string) => ({ type: 'item_reference', id })

  it('replaces references by the stored items', async () => {
    const stored = turn(1, null)
    const body = { input: [reference(`msg_${keyOf(1)}00`), { role: 'user', content: 'And?' }] }
    const resolved = await resolveReferences(body, find({ 1: stored }))
    expect(resolved.input).to.deep.equal([(stored.response.output as object[])[0], body.input[1]])
  })

  it('keeps references to unknown items', async () => {
    const body = {
      input: [reference(`msg_${keyOf(1)}07`), reference(`msg_${keyOf(2)}00`), reference('msg_elsewhere')],
    }
    expect((await resolveReferences(body, find({ 1: turn(1, null) }))).input).to.deep.equal(body.input)
  })
})

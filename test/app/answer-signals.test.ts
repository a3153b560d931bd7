import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { readVectors } from '../support/vectors.ts'

describe('signals about answers', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url })
  })

  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  beforeEach(async () => {
    user = await newUser(gateway)
  })

  interface Reply {
    readonly content?: string
    readonly json?: string
    readonly finish?: string
  }

  function playWhole({ content, json, finish = 'stop' }: Reply): void {
    const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: json } }
    const message = {
      role: 'assistant',
      content: content ?? null,
      ...(json !== undefined && { tool_calls: [call] }),
    }
    const choices = [{ index: 0, message, finish_reason: finish }]
    provider.play({ body: { id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o', choices } })
  }

  /** The same reply, in pieces of three characters. */
  function playStream({ content = '', json = '', finish = 'stop' }: Reply): void {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' },
      choices: [{ index: 0, delta, finish_reason }],
    })
    const pieces = (text: string) => text.match(/.{1,3}/gs) ?? []
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '' } }
    provider.play({
      chunks: [
        chunk({ role: 'assistant', ...(json !== '' && { tool_calls: [call] }) }),
        ...pieces(content).map((text) => chunk({ content: text })),
        ...pieces(json).map((text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
        chunk({}, finish),
      ],
    })
  }

  async function signalsOf(more: object, content = String(Math.random())): Promise<string[]> {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more }
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    const record = await user.call('GET', `/v1/requests/${response.headers.get('x-request-id')}`)
    return record.body.data.signals
  }

  interface SignalCase {
    readonly title: string
    readonly reply: Reply
    readonly request: object
    readonly signals: readonly string[]
  }
  for (const { title, reply, request, signals } of readVectors<readonly SignalCase[]>('answer-signals')) {
    it(`${title}, whole and streamed`, async () => {
      playWhole(reply)
      expect(await signalsOf(request)).to.deep.equal(signals)
      playStream(reply)
      expect(await signalsOf({ ...request, stream: true })).to.deep.equal(signals)
    })
  }

  it('tell that the same prompt came again, and are summed up beside the score', async () => {
    playWhole({ content: 'fine' })
    const ask = async (content: string) => {
      const messages = [{ role: 'user', content }]
      const { headers } = await user.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
      return headers.get('x-request-id')
    }
    const signals = async (id: string | null) =>
      (await user.call('GET', `/v1/requests/${id}`)).body.data.signals
    const first = await ask('why?')
    expect(await signals(first)).to.deep.equal([])
    const second = await ask('why?')
    const other = await ask('why not?')
    expect(await signals(first)).to.deep.equal(['asked_again'])
    expect(await signals(second)).to.deep.equal([])
    expect(await signals(other)).to.deep.equal([])
    const { data } = (await user.call('GET', '/v1/usage')).body
    expect(data[0]).to.deep.include({
      requests: 3,
      ratings: 0,
      mean_score: null,
      signals: { cut_off: 0, invalid_tool_call: 0, schema_mismatch: 0, asked_again: 1 },
    })
  })
})

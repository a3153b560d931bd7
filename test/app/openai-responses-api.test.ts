import { expect } from 'chai'
import type OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'

type Chat = OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming

const MODEL = 'gpt-6.2-sol'
const parameters = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
const search = {
  type: 'function' as const,
  function: { name: 'search', description: 'Searches.', parameters },
}
const other = { type: 'function' as const, function: { name: 'other', parameters } }
const user = { role: 'user' as const, content: 'Use search' }

/** OpenAI's newest models take tools in the Responses API only; the sandbox refuses them elsewhere, too. */
describe("tools for OpenAI's newest models", () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 20 })
    gateway = await startGateway(providersAt(sandbox))
    client = gateway.openai()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const chat = (more: object) =>
    client.chat.completions.create({
      model: MODEL,
      messages: [user],
      tools: [search, other],
      ...more,
    } as Chat)
  const sent = () => {
    const { path, body } = sandbox.requests.at(-1) ?? expect.fail('Nothing was sent.')
    return { path, body: body as Record<string, unknown> }
  }

  it('are called in chat completions, and their results are read', async () => {
    const first = await chat({ store: undefined, max_tokens: 100 })
    const [choice] = first.choices
    expect(choice).to.include({ finish_reason: 'tool_calls' })
    const [call] = choice?.message.tool_calls ?? []
    expect(call).to.have.nested.property('function.name', 'search')
    expect(first.usage?.completion_tokens).to.be.greaterThan(0)
    expect(sent().path).to.equal('/openai/v1/responses')
    expect(sent().body).to.deep.include({ store: false, max_output_tokens: 100 })
    expect(sent().body.tools).to.deep.equal(
      [search, other].map(({ type, function: called }) => ({ type, ...called, strict: false })),
    )
    expect(first).not.to.have.nested.property('signalbox.warnings')

    const result = { role: 'tool', tool_call_id: call?.id, content: 'Page 7' }
    const second = await chat({ messages: [user, choice?.message, result] })
    expect(second.choices[0]?.message.content).to.contain('The tool answered: "Page 7"')
    expect(second.choices[0]?.finish_reason).to.equal('stop')
  })

  it('are called in streams, also several at once', async () => {
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages: [{ role: 'user', content: 'Use search and other, parallel' }],
      tools: [search, other],
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    const names = choices[0]?.message.tool_calls?.map((call) =>
      call.type === 'function' ? call.function.name : '',
    )
    expect(names).to.deep.equal(['search', 'other'])
    expect(usage?.prompt_tokens).to.be.greaterThan(0)
    expect(sent().body).to.include({ stream: true })
  })

  it('are called in responses and messages', async () => {
    const response = await client.responses.create({
      model: MODEL,
      input: 'Use search',
      tools: [{ type: 'function', ...search.function, strict: false }],
    })
    expect(response.output[0]).to.include({ type: 'function_call', name: 'search' })
    const { status, body } = await gateway.call('POST', '/v1/messages', {
      model: MODEL,
      max_tokens: 100,
      messages: [user],
      tools: [{ name: 'search', input_schema: parameters }],
    })
    expect([status, body.stop_reason]).to.deep.equal([200, 'tool_use'])
  })

  it('keep the other options of the request, and warn of those that the API lacks', async () => {
    const { signalbox } = (await chat({
      tool_choice: { type: 'function', function: { name: 'other' } },
      parallel_tool_calls: false,
      reasoning_effort: 'none',
      verbosity: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'page', schema: parameters } },
      user: 'u1',
      stop: 'END',
      max_completion_tokens: 5,
    })) as unknown as { signalbox: { warnings: { message: string }[] } }
    expect(sent().body).to.deep.include({
      tool_choice: { type: 'function', name: 'other' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'page', schema: parameters, strict: false },
      },
      user: 'u1',
      max_output_tokens: 16,
    })
    const messages = signalbox.warnings.map(({ message }) => message).join('\n')
    for (const word of ['stop', 'reasoning_effort', 'max_completion_tokens'])
      expect(messages).to.contain(word)
  })

  it('warn of everything else that the API has no place for, by its name', async () => {
    const { signalbox } = (await chat({
      messages: [{ ...user, name: 'ada' }],
      audio: { voice: 'ash', format: 'mp3' },
      modalities: ['text', 'audio'],
      seed: 7,
      unheard_of: 1,
      prompt_cache_key: 'key',
    })) as unknown as { signalbox: { warnings: { code: string; message: string }[] } }
    expect(sent().body).to.include({ prompt_cache_key: 'key' })
    expect(signalbox.warnings).to.deep.equal(
      ['audio', 'modalities', 'seed', 'unheard_of', 'name in messages'].map((name) => ({
        code: 'parameter',
        message: `${name} was omitted because ${MODEL} does not support it.`,
      })),
    )
  })

  it('must be functions or custom tools: OpenAI would run any others', async () => {
    const mcp = { type: 'mcp', mcp: { server_label: 'x', server_url: 'https://example.com' } }
    const error = await chat({ tools: [search, mcp] }).then(
      () => expect.fail('It did not fail.'),
      (thrown: { status?: number; param?: string }) => thrown,
    )
    expect(error).to.include({ status: 400, param: 'tools[1]' })
  })

  it('are not needed for the effort max, which only that API has', async () => {
    await chat({ tools: undefined, reasoning_effort: 'max' })
    expect(sent()).to.have.nested.property('body.reasoning.effort', 'max')
    await chat({ tools: undefined, reasoning_effort: 'high' })
    expect(sent().path).to.equal('/openai/v1/chat/completions')
    await chat({ model: 'gpt-5.6-sol', reasoning_effort: 'none' })
    expect(sent().path).to.equal('/openai/v1/chat/completions')
    await chat({ model: 'gpt-4o' })
    expect(sent().path).to.equal('/openai/v1/chat/completions')
  })

  it('report the errors of the provider, before and in a stream', async () => {
    const fail = (text: string, more: object) =>
      chat({ messages: [{ role: 'user', content: text }], ...more }).then(
        () => expect.fail('It did not fail.'),
        (error: { status?: number }) => error,
      )
    expect(await fail('[[sandbox:status=400]]', {})).to.include({ status: 400 })
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hi [[sandbox:cut=4]]' }],
      tools: [search],
    })
    const error = await stream.done().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(Error)
  })

  it('show refusals, and replies that were cut off', async () => {
    const refused = await chat({ messages: [{ role: 'user', content: 'Hi [[sandbox:refuse]]' }] })
    expect(refused.choices[0]?.message.refusal).to.be.a('string')
    const cut = await chat({
      messages: [{ role: 'user', content: 'word '.repeat(200) }],
      max_completion_tokens: 20,
    })
    expect(cut.choices[0]?.finish_reason).to.equal('length')
  })
})

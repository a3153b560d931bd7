import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { newUser } from '../support/new-user.ts'
import { constant } from '../support/stored-responses.ts'
import {
  type Asked,
  encodeReply,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of any dialect
type Loose = any

const SIGNATURE = 'c2lnbmF0dXJl'.repeat(8)
const CALL = { id: 'call_0123456789abcdef0123', name: 'weather', argumentsJson: '{"city":"Bern"}' }
const REASONING = 'First the weather.'

const FLAT_TOOL = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }
const CHAT_TOOL = { type: 'function', function: { name: 'weather', parameters: FLAT_TOOL.parameters } }
const RESULT = { type: 'function_call_output', call_id: CALL.id, output: 'sunny' }
const QUESTION = { role: 'user', content: 'How is the weather?' }

/** The reply of OpenAI's Responses API to a request for encrypted reasoning. */
function openAiResponse({ body, stream }: ProviderCall): object {
  const isAnswer = JSON.stringify(body).includes('function_call_output')
  const reasoning = {
    ...{ id: 'rs_0a1b2c3d4e5f', type: 'reasoning', summary: [{ type: 'summary_text', text: REASONING }] },
    ...(body.include?.includes('reasoning.encrypted_content') && { encrypted_content: SIGNATURE }),
  }
  const call = {
    ...{ id: 'fc_1', type: 'function_call', status: 'completed', call_id: CALL.id },
    ...{ name: CALL.name, arguments: CALL.argumentsJson },
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }
  const said = { ...message, content: [{ type: 'output_text', text: 'Sunny.', annotations: [] }] }
  const output = isAnswer ? [said] : [reasoning, call]
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  const response = { id: 'resp_up', object: 'response', model: 'pro-1', status: 'completed', output, usage }
  if (!stream) return { body: response }
  const events: Loose[] = [{ type: 'response.created', response: { ...response, output: [] } }]
  for (const [output_index, item] of output.entries()) {
    const empty = item === call ? { ...call, arguments: '' } : { ...item, summary: [], content: [] }
    events.push({ type: 'response.output_item.added', output_index, item: empty })
    if (item === reasoning)
      events.push({ type: 'response.reasoning_summary_text.delta', output_index, delta: REASONING })
    if (item === call)
      events.push({ type: 'response.function_call_arguments.delta', output_index, delta: call.arguments })
    if (item === said) events.push({ type: 'response.output_text.delta', output_index, delta: 'Sunny.' })
    events.push({ type: 'response.output_item.done', output_index, item })
  }
  events.push({ type: 'response.completed', response })
  return { records: events.map((event) => ({ event: event.type, data: JSON.stringify(event) })) }
}

function outputOf({ body, records }: Asked): readonly Loose[] {
  return body?.output ?? records.find(({ type }) => type === 'response.completed').response.output
}

describe('the reasoning that a provider gets back', () => {
  let bench: TranslationBench

  before(async () => {
    bench = await startTranslationBench({}, 'firewall: { evaluate_responses: true }\n')
  })
  after(() => bench.close())

  beforeEach(() => {
    bench.calls.length = 0
    bench.respond((call) =>
      call.format === 'responses'
        ? openAiResponse(call)
        : encodeReply(call, { reasoning: REASONING, toolCalls: [CALL] }),
    )
  })

  const lastBody = () => bench.calls.at(-1)?.body

  for (const stream of [false, true]) {
    const kind = stream ? 'stream' : 'whole'
    const openai = { dialect: 'responses', format: 'responses', stream } as const

    it(`is the encrypted item of OpenAI, before its call: ${kind}`, async () => {
      const fields = { tools: [FLAT_TOOL], store: false, include: ['reasoning.encrypted_content'] }
      const first = await bench.ask(openai, { body: { input: [QUESTION], ...fields } })
      expect(lastBody()).to.deep.include({ store: false, include: ['reasoning.encrypted_content'] })
      const output = outputOf(first)
      expect(output.map(({ type }) => type)).to.deep.equal(['reasoning', 'function_call'])
      expect(output[0]).to.deep.include({
        summary: [{ type: 'summary_text', text: REASONING }],
        encrypted_content: SIGNATURE,
      })
      await bench.ask(openai, { body: { input: [QUESTION, ...output, RESULT], ...fields } })
      expect(lastBody().input.slice(1)).to.deep.equal([
        { type: 'reasoning', summary: output[0].summary, encrypted_content: SIGNATURE },
        { type: 'function_call', call_id: CALL.id, name: CALL.name, arguments: CALL.argumentsJson },
        { ...RESULT },
      ])
    })

    it(`is part of the stored response: ${kind}`, async () => {
      const fields = { tools: [FLAT_TOOL] }
      const first = await bench.ask(openai, { body: { input: 'How is the weather?', ...fields } })
      const { id } = first.body ?? first.records.at(-1).response
      await bench.ask(openai, { body: { input: [RESULT], previous_response_id: id, ...fields } })
      const types = lastBody().input.map(({ type }: Loose) => type)
      expect(types).to.deep.equal(['message', 'reasoning', 'function_call', 'function_call_output'])
      expect(lastBody().input[1].encrypted_content).to.equal(SIGNATURE)
      const replay = await fetch(`${bench.gateway.url}/v1/responses/${id}?stream=true`, {
        headers: { authorization: `Bearer ${bench.gateway.demoKey}` },
      })
      if (stream) expect(constant(await replay.text())).to.equal(constant(first.raw))
      else expect(await replay.text()).to.contain(SIGNATURE)
    })

    it(`may come from a session that began at OpenAI: ${kind}`, async () => {
      const item = { type: 'reasoning', id: 'rs_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b' }
      const reasoning = { ...item, summary: [], content: null, encrypted_content: SIGNATURE }
      const call = { type: 'function_call', call_id: CALL.id, name: CALL.name, arguments: '{}' }
      const input = [QUESTION, reasoning, call, RESULT]
      await bench.ask(openai, { body: { input, tools: [FLAT_TOOL], store: false } })
      expect(lastBody().input[1]).to.deep.equal({ ...item, summary: [], encrypted_content: SIGNATURE })
    })

    it(`is left out for other providers, with a warning: ${kind}`, async () => {
      for (const [from, to] of [
        ['responses', 'gemini'],
        ['responses', 'anthropic'],
        ['responses', 'compatible'],
        ['anthropic', 'gemini'],
        ['anthropic', 'responses'],
      ] as const) {
        const ask = { dialect: 'responses', stream } as const
        const fields = { tools: [FLAT_TOOL], store: false, reasoning: { effort: 'low' } }
        const first = await bench.ask({ ...ask, format: from }, { body: { input: [QUESTION], ...fields } })
        const output = outputOf(first)
        expect(output[0].encrypted_content, from).to.be.a('string')
        const [call] = first.calls
        const input = [QUESTION, ...output, { ...RESULT, call_id: call?.id }]
        const second = await bench.ask({ ...ask, format: to }, { body: { input, ...fields } })
        expect(second.status, second.raw).to.equal(200)
        expect(second.warnings.join(), `${from} to ${to}`).to.contain('reasoning in messages was omitted')
        expect(JSON.stringify(lastBody())).not.to.contain('encrypted_content":"')
        expect(JSON.stringify(lastBody())).not.to.contain('"signature"')
      }
    })

    it(`is not what a rule has changed: ${kind}`, async () => {
      const user = await newUser(bench.gateway)
      const rule = firewallRuleBody({ scope: 'response', pattern: 'weather', action: 'mask' })
      expect(await user.call('POST', '/v1/firewall-rules', rule)).to.include({ status: 201 })
      const fields = { tools: [FLAT_TOOL], store: false, reasoning: { effort: 'low' } }
      const claude = { dialect: 'responses', format: 'anthropic', stream } as const
      const ask = (headers: Record<string, string>) =>
        bench.ask(claude, { body: { input: [QUESTION], ...fields }, headers })
      expect(outputOf(await ask({}))[0].encrypted_content).to.be.a('string')
      const masked = await ask({ authorization: `Bearer ${user.key}` })
      expect(masked.reasoning).to.match(/^First the (?!weather)/)
      expect(outputOf(masked)[0]).not.to.have.property('encrypted_content')
    })

    it(`is thinking of a model that a rule has chosen, for that model only: ${kind}`, async () => {
      const user = await newUser(bench.gateway)
      const headers = { authorization: `Bearer ${user.key}` }
      const setModel = (set_model: string, priority: number) =>
        user.call('POST', '/v1/routing-rules', {
          ...{ name: set_model, is_enabled: true, priority },
          ...{ match_json: {}, action_json: { set_model } },
        })
      const ask = (messages: readonly object[]) =>
        bench.ask(
          { dialect: 'messages', format: 'openai', stream },
          {
            body: {
              ...{ messages, max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 1024 } },
              tools: [{ name: 'weather', input_schema: FLAT_TOOL.parameters }],
            },
            headers,
          },
        )
      await setModel('claude-sonnet-4-6', 2)
      const first = await ask([QUESTION])
      const [call] = first.calls
      const signature = stream
        ? first.records.find(({ delta }) => delta?.type === 'signature_delta').delta.signature
        : first.body.content[0].signature
      const history = [
        QUESTION,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: first.reasoning, signature },
            { type: 'tool_use', id: call?.id, name: 'weather', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id, content: 'sunny' }] },
      ]
      await ask(history)
      expect(lastBody().messages[1].content[0]).to.deep.include({ type: 'thinking', thinking: REASONING })
      expect(lastBody().messages[1].content[0].signature).not.to.contain('sbr1')
      await setModel('claude-opus-4-6', 3)
      await ask(history)
      expect(lastBody().model).to.equal('claude-opus-4-6')
      expect(JSON.stringify(lastBody().messages)).not.to.contain('thinking')
    })

    it(`has the field reasoning of compatible providers: ${kind}`, async () => {
      bench.respond((call) =>
        encodeReply(call, { reasoning: REASONING, reasoningField: 'reasoning', toolCalls: [CALL] }),
      )
      const acme = { format: 'compatible', stream } as const
      const thinking = { type: 'enabled', budget_tokens: 1024 }
      const shown = await bench.ask(
        { dialect: 'messages', ...acme },
        { body: { thinking, max_tokens: 5000 } },
      )
      expect(shown.reasoning).to.equal(REASONING)
      const first = await bench.ask(
        { dialect: 'responses', ...acme },
        { body: { input: [QUESTION], tools: [FLAT_TOOL] } },
      )
      expect(first.reasoning).to.equal(REASONING)
      const input = [QUESTION, ...outputOf(first), RESULT]
      await bench.ask({ dialect: 'responses', ...acme }, { body: { input, tools: [FLAT_TOOL] } })
      expect(lastBody().messages[1]).to.deep.include({ reasoning: REASONING })
      expect(lastBody().messages[1]).not.to.have.property('reasoning_content')
    })
  }

  it('is in the interface form, too, if the caller asks for it', async () => {
    const body = {
      ...{ model: 'openai:pro-1', input: 'How is the weather?', tools: [FLAT_TOOL] },
      include: ['reasoning.encrypted_content'],
    }
    const { body: response } = await bench.gateway.call('POST', '/v1/responses', body)
    expect(response.output[0]).to.deep.include({ type: 'reasoning', encrypted_content: SIGNATURE })
  })

  it('is text for compatible providers, and nothing for OpenAI', async () => {
    const call = { id: CALL.id, type: 'function', function: { name: CALL.name, arguments: '{}' } }
    const messages = [
      QUESTION,
      { role: 'assistant', content: null, reasoning_content: REASONING, tool_calls: [call] },
      { role: 'tool', tool_call_id: CALL.id, content: 'sunny' },
    ]
    const body = { messages, tools: [CHAT_TOOL] }
    await bench.ask({ dialect: 'chat', format: 'compatible', stream: false }, { body })
    expect(lastBody().messages[1].reasoning_content).to.equal(REASONING)
    await bench.ask({ dialect: 'chat', format: 'openai', stream: false }, { body })
    expect(lastBody().messages[1]).to.deep.equal({ role: 'assistant', content: null, tool_calls: [call] })
  })

  it('is remembered for the user who got it, and for no other', async () => {
    const chat = { dialect: 'chat', format: 'anthropic', stream: false } as const
    const first = await bench.ask(chat, {
      body: { messages: [QUESTION], tools: [CHAT_TOOL], reasoning_effort: 'low' },
    })
    const [call] = first.calls
    const messages = [
      QUESTION,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: call?.id, type: 'function', function: { name: CALL.name, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: call?.id, content: 'sunny' },
    ]
    const body = { messages, tools: [CHAT_TOOL], reasoning_effort: 'low' }
    await bench.ask(chat, { body })
    expect(lastBody().messages[1].content[0]).to.deep.include({ type: 'thinking', thinking: REASONING })
    const other = await newUser(bench.gateway)
    await bench.ask(chat, { body, headers: { authorization: `Bearer ${other.key}` } })
    expect(JSON.stringify(lastBody().messages)).not.to.contain('thinking')
  })
})

import { expect } from 'chai'
import type { ChatRequest, Message, ReplyPart } from '../../../../core/contract/chat.ts'
import type { GatewayError } from '../../../../core/contract/errors.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { staying } from '../../../support/presence.ts'
import { argon, old, request, target } from './calls.ts'

const parameters = { type: 'object', properties: { city: { const: 'Bern' } }, required: ['city'] }
const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: { name, parameters },
}))

describe('an exchange with the Gemini sandbox', () => {
  let sandbox: Sandbox
  let client: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    client = createProviderClient({
      id: 'gemini',
      adapter: gemini,
      baseUrl: `${sandbox.url}/gemini`,
      apiKey: 'test',
      timeouts: { connect_ms: 1000, first_byte_ms: 5000, idle_ms: 5000 },
    })
  })

  after(async () => {
    await client.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it('returns text, reasoning and usage for a request with all parameters', async () => {
        const parts = await send({
          stream,
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Hi' },
          ],
          temperature: 1,
          top_p: 1,
          max_tokens: 1000,
          stop: ['END'],
          presence_penalty: 1,
          frequency_penalty: 1,
          seed: 1,
          reasoning_effort: 'high',
          tools,
          tool_choice: 'none',
          user: 'u1',
          logit_bias: { 1: 1 },
        })
        expect(textOf(parts, 'text')).to.contain('You said: "Hi"')
        expect(textOf(parts, 'reasoning')).to.contain('The user said: "Hi"')
        expect(parts[0]).to.include({ type: 'start', model: 'gemini-4-argon' })
        expect(parts.at(-2)).to.deep.equal({ type: 'finish', reason: 'stop' })
        expect(parts.at(-1)).to.have.nested.property('usage.reasoning')
      })

      for (const to of [argon, old]) {
        it(`returns parallel tool calls, and accepts their results (${to.model})`, async () => {
          const user: Message = { role: 'user', content: 'Use tools in parallel' }
          const parts = await send({ stream, messages: [user], tools }, to)
          expect(parts.at(-2)).to.deep.equal({ type: 'finish', reason: 'tool_calls' })
          const message = messageOf(parts)
          expect(message.tool_calls).to.have.length(2)
          const results = message.tool_calls?.map(
            ({ id, function: { name } }): Message => ({
              role: 'tool',
              tool_call_id: id,
              content: `${name}!`,
            }),
          )
          const messages = [user, message, ...(results ?? []).reverse()]
          const reply = await send({ stream, messages, tools }, to)
          expect(textOf(reply, 'text')).to.match(
            /^The tool answered: "get_weather!". The tool answered: "get_time!"./,
          )
        })
      }

      it('returns a refusal', async () => {
        const parts = await send({ stream, messages: [{ role: 'user', content: '[[sandbox:refuse]]' }] })
        expect(parts[1]).to.deep.equal({ type: 'refusal', text: 'blocked: PROHIBITED_CONTENT' })
        expect(parts.at(-2)).to.deep.equal({ type: 'finish', reason: 'content_filter' })
      })

      it('returns JSON for a schema', async () => {
        const json_schema = { name: 'it', schema: { ...parameters, $schema: 'x' } }
        const parts = await send({ stream, response_format: { type: 'json_schema', json_schema } })
        expect(JSON.parse(textOf(parts, 'text'))).to.deep.equal({ city: 'Bern' })
      })

      for (const [failure, code] of [
        ['status=400', 'provider_refused'],
        ['status=400 code=API_KEY_INVALID', 'provider_authentication_error'],
        ['status=402', 'provider_quota_exceeded'],
        ['status=404', 'model_not_found'],
        ['status=429', 'provider_rate_limited'],
        ['status=429 code=GenerateRequestsPerDay', 'provider_quota_exceeded'],
        ['status=503', 'provider_overloaded'],
        ['status=504', 'provider_timeout'],
        ['malformed', 'provider_error'],
        ['cut', 'provider_unreachable'],
        ...(stream
          ? ([
              ['error-first status=429', 'provider_rate_limited'],
              ['error-mid', 'provider_error'],
              ['eof', 'provider_error'],
              ['eof=0', 'provider_error'],
            ] as const)
          : []),
      ] as const) {
        it(`throws ${code} for ${failure}`, async () => {
          const messages: Message[] = [{ role: 'user', content: `[[sandbox:${failure}]]` }]
          const error = await send({ stream, messages }).catch((failure: GatewayError) => failure)
          expect(error).to.include({ code })
        })
      }
    })
  }

  it('accepts comments in a stream', async () => {
    const messages: Message[] = [{ role: 'user', content: '[[sandbox:comments]]' }]
    expect(textOf(await send({ stream: true, messages }), 'text')).to.contain('You said')
  })

  it('returns the model name', async () => {
    const parts = await send({}, target('gemini-3.8-flash'))
    expect(textOf(parts, 'text')).to.contain('answering as gemini-3.8-flash')
  })

  async function send(fields: Partial<ChatRequest>, to = argon): Promise<ReplyPart[]> {
    const { reply } = await client.send({ ...request, ...fields }, to, staying)
    if (reply.type === 'whole') return [...reply.event.parts]
    const parts: ReplyPart[] = []
    for await (const batch of reply.batches) parts.push(...batch.flatMap((event) => event.parts))
    return parts
  }
})

function textOf(parts: readonly ReplyPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/** The reply as a client sends it back. */
function messageOf(parts: readonly ReplyPart[]): Message {
  const starts = parts.filter((part) => part.type === 'tool-start')
  const tool_calls = starts.map(({ index, id, name, extra_content }) => ({
    id,
    function: {
      name,
      arguments: parts
        .map((part) => (part.type === 'tool-json' && part.index === index ? part.json : ''))
        .join(''),
    },
    ...(extra_content && { extra_content }),
  }))
  return { role: 'assistant', content: null, tool_calls }
}

import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { readAsClient } from '../../../support/as-client.ts'
import { staying } from '../../../support/presence.ts'

describe('an exchange with DeepSeek', () => {
  let sandbox: Sandbox
  let connection: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    connection = createProviderClient({
      id: 'deepseek',
      adapter: deepseek,
      baseUrl: `${sandbox.url}/deepseek`,
      apiKey: 'key',
      timeouts: { connect_ms: 1000, first_byte_ms: 2000, idle_ms: 200 },
    })
  })

  after(async () => {
    await connection.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it("is read by OpenAI's client, with thoughts and usage", async () => {
        const { choices, usage } = await ask({ stream, user: 'ada@example.com' })
        expect(choices[0]!.message.content).to.contain('You said: "Which track?"')
        expect(choices[0]!.message).to.have.property('reasoning_content')
        expect(choices[0]!.finish_reason).to.equal('stop')
        expect(usage).to.include({ prompt_tokens: 3, prompt_cache_miss_tokens: 3 })
      })

      it('thinks no thoughts at effort none', async () => {
        const { choices } = await ask({ stream, reasoning_effort: 'none' })
        expect(choices[0]!.message).not.to.have.property('reasoning_content')
      })

      it('gives parallel tool calls, and takes them back without thoughts', async () => {
        const tools = [{ type: 'function', function: { name: 'look', strict: true } }]
        const user: Message = { role: 'user', content: 'Use the tool in parallel' }
        const { choices } = await ask({ stream, tools, messages: [user] })
        const calls = (choices[0]!.message.tool_calls ?? []).filter((call) => call.type === 'function')
        expect(calls).to.have.length(2)

        const tool_calls = calls.map(({ id, type, function: { name, arguments: json } }) => ({
          id,
          type,
          function: { name, arguments: json },
        }))
        const results = calls.map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: [{ type: 'text', text: 'done' }],
        }))
        const turn: Message = { role: 'assistant', content: null, tool_calls }
        const answer = await ask({ stream, tools, messages: [user, turn, ...results] })
        expect(answer.choices[0]!.message.content).to.contain('The tool answered: "done".')
      })

      it('answers in JSON to a prompt that does not say so', async () => {
        const { choices } = await ask({ stream, response_format: { type: 'json_object' } })
        expect(JSON.parse(choices[0]!.message.content ?? '')).to.include({ you_said: 'Which track?' })
      })

      for (const [fault, code] of [
        ['status=400', 'provider_refused'],
        ['status=402', 'provider_quota_exceeded'],
        ['status=429', 'provider_rate_limited'],
        ['status=503', 'provider_error'],
      ]) {
        it(`fails with ${code} on ${fault}`, async () => {
          const error = await ask({ stream, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
          expect(error).to.have.property('code', code)
        })
      }
    })
  }

  it('lives through `: keep-alive` comments', async () => {
    const { choices } = await ask({
      stream: true,
      messages: says('Hi [[sandbox:comments token-delay=20]]'),
    })
    expect(choices[0]!.finish_reason).to.equal('stop')
  })

  for (const fault of ['error-first', 'eof=0', 'cut=0']) {
    it(`fails over before the answer (${fault})`, async () => {
      const error = await ask({ stream: true, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
      expect(error).to.have.property('mayFailOver', true)
    })
  }

  for (const fault of ['error-mid=3', 'eof=3', 'cut=3', 'malformed']) {
    it(`never looks complete when it is not (${fault})`, async () => {
      const error = await ask({ stream: true, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
      expect(error).to.be.instanceOf(Error)
    })
  }

  async function ask(fields: Partial<ChatRequest>) {
    const request = { messages: says('Which track?'), ...fields }
    const target = { provider: 'deepseek', model: 'deepseek-test' }
    const { reply } = await connection.send(request, target, staying)
    return readAsClient(reply)
  }
})

function says(content: string): Message[] {
  return [{ role: 'user', content }]
}

import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import { deepseek } from '../../../../providers/deepseek/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { readAsClient } from '../../../support/as-client.ts'
import { staying } from '../../../support/presence.ts'

describe('an exchange with the DeepSeek sandbox', () => {
  let sandbox: Sandbox
  let client: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    client = createProviderClient({
      id: 'deepseek',
      adapter: deepseek,
      baseUrl: `${sandbox.url}/deepseek`,
      apiKey: 'key',
      timeouts: { connect_ms: 60_000, first_byte_ms: 60_000, idle_ms: 60_000 },
    })
  })

  after(async () => {
    await client.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it("can be read by OpenAI's client, with reasoning and usage", async () => {
        const { choices, usage } = await ask({ stream, user: 'ada@example.com' })
        expect(choices[0]!.message.content).to.contain('You said: "Which track?"')
        expect(choices[0]!.message).to.have.property('reasoning_content')
        expect(choices[0]!.finish_reason).to.equal('stop')
        expect(usage).to.include({ prompt_tokens: 3, prompt_cache_miss_tokens: 3 })
      })

      it('does not reason for effort none', async () => {
        const { choices } = await ask({ stream, reasoning_effort: 'none' })
        expect(choices[0]!.message).not.to.have.property('reasoning_content')
      })

      it('returns parallel tool calls, and accepts them without reasoning', async () => {
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
        const reply = await ask({ stream, tools, messages: [user, turn, ...results] })
        expect(reply.choices[0]!.message.content).to.contain('The tool answered: "done".')
      })

      it('returns JSON for a prompt that does not mention it', async () => {
        const { choices } = await ask({ stream, response_format: { type: 'json_object' } })
        expect(JSON.parse(choices[0]!.message.content ?? '')).to.include({ you_said: 'Which track?' })
      })

      for (const [failure, code] of [
        ['status=400', 'provider_refused'],
        ['status=402', 'provider_quota_exceeded'],
        ['status=429', 'provider_rate_limited'],
        ['status=503', 'provider_overloaded'],
      ]) {
        it(`throws ${code} for ${failure}`, async () => {
          const error = await ask({ stream, messages: fromUser(`[[sandbox:${failure}]]`) }).catch((it) => it)
          expect(error).to.have.property('code', code)
        })
      }
    })
  }

  it('accepts `: keep-alive` comments', async () => {
    const { choices } = await ask({
      stream: true,
      messages: fromUser('Hi [[sandbox:comments token-delay=20]]'),
    })
    expect(choices[0]!.finish_reason).to.equal('stop')
  })

  for (const failure of ['error-first', 'eof=0', 'cut=0']) {
    it(`allows failover before the reply (${failure})`, async () => {
      const error = await ask({ stream: true, messages: fromUser(`[[sandbox:${failure}]]`) }).catch(
        (it) => it,
      )
      expect(error).to.have.property('mayFailOver', true)
    })
  }

  for (const failure of ['error-mid=3', 'eof=3', 'cut=3', 'malformed']) {
    it(`does not look complete if it is not (${failure})`, async () => {
      const error = await ask({ stream: true, messages: fromUser(`[[sandbox:${failure}]]`) }).catch(
        (it) => it,
      )
      expect(error).to.be.instanceOf(Error)
    })
  }

  async function ask(fields: Partial<ChatRequest>) {
    const request = { messages: fromUser('Which track?'), ...fields }
    const target = { provider: 'deepseek', model: 'deepseek-test' }
    const { reply } = await client.send(request, target, staying)
    return readAsClient(reply)
  }
})

function fromUser(content: string): Message[] {
  return [{ role: 'user', content }]
}

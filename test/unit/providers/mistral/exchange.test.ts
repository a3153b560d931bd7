import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { readAsClient } from '../../../support/as-client.ts'
import { staying } from '../../../support/presence.ts'

const tool = (name: string) => ({ type: 'function', function: { name } })

describe('an exchange with the Mistral sandbox', () => {
  let sandbox: Sandbox
  let client: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    client = createProviderClient({
      id: 'mistral',
      adapter: mistral,
      baseUrl: `${sandbox.url}/mistral`,
      apiKey: 'key',
      timeouts: { connect_ms: 1000, first_byte_ms: 2000, idle_ms: 2000 },
    })
  })

  after(async () => {
    await client.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it("can be read by OpenAI's client, with usage", async () => {
        const { choices, usage } = await ask({
          stream,
          user: 'ada',
          seed: 7,
          stream_options: { include_usage: true },
          max_completion_tokens: 100,
        })
        expect(choices[0]!.message.content).to.contain('You said: "Which track?"')
        expect(choices[0]!.finish_reason).to.equal('stop')
        expect(usage).to.include({ prompt_tokens: 3 })
      })

      it('returns reasoning as reasoning_content', async () => {
        const { choices } = await ask({ stream, reasoning_effort: 'high' })
        expect(choices[0]!.message).to.have.property('reasoning_content').that.is.not.empty
        expect(choices[0]!.message.content).to.contain('You said: "Which track?"')
      })

      it('returns parallel tool calls, and accepts them with other ids and reasoning', async () => {
        const tools = [tool('look'), tool('ring')]
        const user: Message = { role: 'user', content: 'Tools, in parallel' }
        const { choices } = await ask({ stream, tools, messages: [user] })
        const calls = choices[0]!.message.tool_calls ?? []
        expect(calls).to.have.length(2)
        expect(choices[0]!.finish_reason).to.equal('tool_calls')

        const tool_calls = ['look', 'ring'].map((name) => ({
          id: `call_of_another_provider_${name}`,
          type: 'function',
          function: { name, arguments: '{}' },
        }))
        const results = tool_calls.map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: 'done',
        }))
        const turn: Message = { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls }
        const reply = await ask({ stream, tools, messages: [user, turn, ...results] })
        expect(reply.choices[0]!.message.content).to.contain('The tool answered: "done".')
      })

      it('returns the finish reason content_filter', async () => {
        const { choices } = await ask({ stream, messages: fromUser('[[sandbox:refuse]]') })
        expect(choices[0]!.finish_reason).to.equal('content_filter')
      })

      for (const [failure, code] of [
        ['status=400', 'provider_refused'],
        ['status=401', 'provider_authentication_error'],
        ['status=402', 'provider_quota_exceeded'],
        ['status=422', 'provider_refused'],
        ['status=429', 'provider_rate_limited'],
        ['status=503', 'provider_overloaded'],
        ['malformed', 'provider_error'],
      ]) {
        it(`throws ${code} for ${failure}`, async () => {
          const error = await ask({ stream, messages: fromUser(`[[sandbox:${failure}]]`) }).catch((it) => it)
          expect(error).to.be.instanceOf(Error)
          // After the start of a stream, the error is a record, which OpenAI's client reads.
          if (failure !== 'malformed' || !stream) expect(error).to.have.property('code', code)
        })
      }
    })
  }

  for (const failure of ['error-first', 'eof=0', 'cut=0']) {
    it(`allows failover before the reply (${failure})`, async () => {
      const error = await ask({ stream: true, messages: fromUser(`[[sandbox:${failure}]]`) }).catch(
        (it) => it,
      )
      expect(error).to.have.property('mayFailOver', true)
    })
  }

  for (const failure of ['error-mid=3', 'eof=3', 'cut=3']) {
    it(`does not look complete if it is not (${failure})`, async () => {
      const error = await ask({ stream: true, messages: fromUser(`[[sandbox:${failure}]]`) }).catch(
        (it) => it,
      )
      expect(error).to.be.instanceOf(Error)
    })
  }

  async function ask(fields: Partial<ChatRequest>) {
    const request = { messages: fromUser('Which track?'), ...fields }
    const target = { provider: 'mistral', model: 'mistral-test' }
    const { reply } = await client.send(request, target, staying)
    return readAsClient(reply)
  }
})

function fromUser(content: string): Message[] {
  return [{ role: 'user', content }]
}

import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { readAsClient } from '../../../support/as-client.ts'
import { staying } from '../../../support/presence.ts'

const tool = (name: string) => ({ type: 'function', function: { name } })

describe('an exchange with Mistral', () => {
  let sandbox: Sandbox
  let connection: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    connection = createProviderClient({
      id: 'mistral',
      adapter: mistral,
      baseUrl: `${sandbox.url}/mistral`,
      apiKey: 'key',
      timeouts: { connect_ms: 1000, first_byte_ms: 2000, idle_ms: 2000 },
    })
  })

  after(async () => {
    await connection.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it("is read by OpenAI's client, with usage", async () => {
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

      it('gives thoughts as reasoning_content', async () => {
        const { choices } = await ask({ stream, reasoning_effort: 'high' })
        expect(choices[0]!.message).to.have.property('reasoning_content').that.is.not.empty
        expect(choices[0]!.message.content).to.contain('You said: "Which track?"')
      })

      it('gives parallel tool calls, and takes them back under other ids, with thoughts', async () => {
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
        const answer = await ask({ stream, tools, messages: [user, turn, ...results] })
        expect(answer.choices[0]!.message.content).to.contain('The tool answered: "done".')
      })

      it('gives a content filter', async () => {
        const { choices } = await ask({ stream, messages: says('[[sandbox:refuse]]') })
        expect(choices[0]!.finish_reason).to.equal('content_filter')
      })

      for (const [fault, code] of [
        ['status=400', 'provider_refused'],
        ['status=401', 'provider_authentication_error'],
        ['status=402', 'provider_quota_exceeded'],
        ['status=422', 'provider_refused'],
        ['status=429', 'provider_rate_limited'],
        ['status=503', 'provider_error'],
        ['malformed', 'provider_error'],
      ]) {
        it(`fails with ${code} on ${fault}`, async () => {
          const error = await ask({ stream, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
          expect(error).to.be.instanceOf(Error)
          // Once a stream has begun, the client gets the error as a record, and OpenAI's client reads it.
          if (fault !== 'malformed' || !stream) expect(error).to.have.property('code', code)
        })
      }
    })
  }

  for (const fault of ['error-first', 'eof=0', 'cut=0']) {
    it(`fails over before the answer (${fault})`, async () => {
      const error = await ask({ stream: true, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
      expect(error).to.have.property('mayFailOver', true)
    })
  }

  for (const fault of ['error-mid=3', 'eof=3', 'cut=3']) {
    it(`never looks complete when it is not (${fault})`, async () => {
      const error = await ask({ stream: true, messages: says(`[[sandbox:${fault}]]`) }).catch((it) => it)
      expect(error).to.be.instanceOf(Error)
    })
  }

  async function ask(fields: Partial<ChatRequest>) {
    const request = { messages: says('Which track?'), ...fields }
    const target = { provider: 'mistral', model: 'mistral-test' }
    const { reply } = await connection.send(request, target, staying)
    return readAsClient(reply)
  }
})

function says(content: string): Message[] {
  return [{ role: 'user', content }]
}

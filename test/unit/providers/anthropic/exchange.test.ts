import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/chat.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { createProviderClient, type ProviderClient } from '../../../../providers/shared/client.ts'
import { staying } from '../../../support/presence.ts'
import { type Fields, targetOf, user } from './target.ts'

const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })

describe('an exchange with the Anthropic sandbox', () => {
  let sandbox: Sandbox
  let client: ProviderClient

  before(async () => {
    sandbox = await startSandbox()
    const timeouts = { connect_ms: 1000, first_byte_ms: 2000, idle_ms: 2000 }
    const baseUrl = `${sandbox.url}/anthropic`
    client = createProviderClient({
      id: 'anthropic',
      adapter: anthropic,
      baseUrl,
      apiKey: 'key',
      timeouts,
    })
  })

  after(async () => {
    await client.close()
    await sandbox.close()
  })

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      it('returns text and usage', async () => {
        const parts = await send({ stream })
        expect(textOf(parts, 'text')).to.contain('You said: "Which track?"')
        expect(parts.find(({ type }) => type === 'usage')).to.have.nested.property('usage.input', 3)
        expect(finishOf(parts)).to.equal('stop')
      })

      it('returns parallel tool calls, and accepts their results', async () => {
        const tools = [tool('look'), tool('ring')]
        const parts = await send({
          stream,
          tools,
          messages: [{ role: 'user', content: 'Tools, in parallel' }],
        })
        const starts = parts.flatMap((part) => (part.type === 'tool-start' ? [part] : []))
        expect(starts.map(({ index, name }) => [index, name])).to.deep.equal([
          [0, 'look'],
          [1, 'ring'],
        ])
        expect(parts.flatMap((part) => (part.type === 'tool-json' ? [part.json] : []))).to.deep.equal([
          '{}',
          '{}',
        ])
        expect(finishOf(parts)).to.equal('tool_calls')

        const tool_calls = starts.map(({ id, name }) => ({ id, function: { name, arguments: '{}' } }))
        const results = starts.map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: 'done',
        }))
        const messages = [user, { role: 'assistant' as const, content: null, tool_calls }, ...results]
        const reply = await send({ stream, tools, messages })
        expect(textOf(reply, 'text')).to.contain('The tool answered: "done".')
      })

      it('returns reasoning', async () => {
        const parts = await send({ stream, reasoning_effort: 'low' })
        expect(textOf(parts, 'reasoning')).to.contain('The user said: "Which track?"')
      })

      it('returns a refusal', async () => {
        const parts = await send({ stream, messages: [{ role: 'user', content: '[[sandbox:refuse]]' }] })
        expect(textOf(parts, 'refusal')).to.equal('The sandbox was asked to refuse.')
        expect(finishOf(parts)).to.equal('content_filter')
      })
    })
  }

  it('rejects if the first event of a stream is an error', async () => {
    const messages = [{ role: 'user' as const, content: '[[sandbox:error-first status=529]]' }]
    const request = { messages, stream: true }
    const error = await client.send(request, target, staying).catch((reason: unknown) => reason)
    expect(error).to.include({ code: 'provider_overloaded', mayFailOver: true })
  })

  for (const failure of ['error-mid=5', 'eof=5', 'cut=5', 'malformed']) {
    it(`throws in mid-stream (${failure})`, async () => {
      const messages = [{ role: 'user' as const, content: `[[sandbox:${failure}]]` }]
      const error = await send({ messages, stream: true }).catch((reason: unknown) => reason)
      expect(error).to.have.property('mayFailOver', true)
    })
  }

  const target = targetOf('claude-sonnet-4-6')

  async function send(fields: Fields): Promise<readonly ReplyPart[]> {
    const { reply } = await client.send({ messages: [user], ...fields }, target, staying)
    if (reply.type === 'whole') return reply.event.parts
    const parts: ReplyPart[] = []
    for await (const events of reply.batches) parts.push(...events.flatMap((event) => event.parts))
    return parts
  }
})

function textOf(parts: readonly ReplyPart[], type: 'text' | 'reasoning' | 'refusal'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}

function finishOf(parts: readonly ReplyPart[]) {
  return parts.find((part) => part.type === 'finish')?.reason
}

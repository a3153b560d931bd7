import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import { mistral } from '../../../../providers/mistral/adapter.ts'
import { openai } from '../../../../providers/openai/adapter.ts'
import { createRequestPreparer } from '../../../../providers/shared/prepare-request.ts'

const target = { provider: 'acme', model: 'gpt-4o' }

const MESSAGES: readonly object[] = [
  { role: 'user', content: 'Hi' },
  { role: 'user', content: '' },
  { role: 'user', content: null },
  { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  { role: 'user', content: 'Hi', name: 'a b' },
  { role: 'system', content: 'Be brief.' },
  { role: 'developer', content: 'Be brief.' },
  { role: 'assistant', content: 'Hello' },
  { role: 'assistant', content: ' \n' },
  { role: 'assistant', content: 'Hello', reasoning_content: 'Hm.' },
  { role: 'assistant', content: 'Hello', reasoning_data: [{ provider: 'other', chat: {} }] },
  {
    role: 'assistant',
    content: 'x',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'assistant', refusal: 'No.' },
  { role: 'tool', content: '9', tool_call_id: 'a' },
  { role: 'tool', content: '9' },
]

const FIELDS: readonly object[] = [
  {},
  { temperature: 0.5, top_p: 1, presence_penalty: 0, frequency_penalty: 0 },
  { max_tokens: 5, max_completion_tokens: null, stream: true, stream_options: { include_usage: true } },
  { stop: [] },
  { tools: [], tool_choice: 'auto' },
  { user: 'someone with a very long id '.repeat(20) },
  { seed: -1 },
  { store: true, metadata: { a: 1 } },
  { extra_content: { openai: {} } },
]

describe('preparing a request for a provider', () => {
  for (const adapter of [openai, mistral, anthropic])
    for (const takesReasoning of [true, false, 'required'] as const)
      it(`takes no short way to another request: ${adapter.format}, ${takesReasoning}`, () => {
        const prepare = createRequestPreparer({
          id: 'acme',
          adapter,
          takesReasoning,
          takesDeveloperRole: takesReasoning === true,
        })
        let same = 0
        for (const fields of FIELDS)
          for (const first of MESSAGES)
            for (const second of MESSAGES) {
              const request = { model: 'x', messages: [first, second], ...fields } as unknown as ChatRequest
              const short = prepare(request, target)
              // A field that no step knows.
              const long = prepare({ ...request, unknown: 1 }, target)
              const { unknown: _, ...expected } = long.request
              expect({ ...short, request: { ...short.request } }).to.deep.equal({
                ...long,
                request: expected,
              })
              if (short.request === request) same++
            }
        expect(same).to.be.greaterThan(50)
      })
})

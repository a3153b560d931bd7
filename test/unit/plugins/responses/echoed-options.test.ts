import { expect } from 'chai'
import { echoOptions as echo } from '../../../../plugins/responses/response.ts'
import { toInputItems } from '../../../../plugins/responses/to-input-items.ts'
import { parseResponsesRequest } from '../../../../providers/shared/responses-format/parse-request.ts'
import type { ResponsesBody } from '../../../../providers/shared/responses-format/request-schema.ts'

/** As the request that is sent has them. */
function echoOptions(body: ResponsesBody) {
  const { tool_choice: _, ...sent } = body
  return echo(body, parseResponsesRequest(sent, [], [{ role: 'user', content: 'Hi' }]))
}

const tools = [{ type: 'function', name: 'find' }]

describe('options of a request in its response', () => {
  it('have defaults', () => {
    expect(echoOptions({ input: 'Hi' })).to.deep.equal({
      tool_choice: 'auto',
      reasoning: { effort: null, summary: null },
      text: { format: { type: 'text' } },
      service_tier: 'default',
    })
  })

  it('are repeated', () => {
    const format = {
      type: 'json_schema' as const,
      name: 'answer',
      schema: {},
      strict: true,
      description: 'One.',
    }
    const options = {
      tool_choice: { type: 'function', name: 'find' },
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format, verbosity: 'high' },
      service_tier: 'flex',
    }
    expect(echoOptions({ input: 'Hi', tools, ...options })).to.deep.equal(options)
  })

  it("are left out if strict clients of OpenAI's API do not know their values", () => {
    const format = { type: 'json_schema' as const, name: 'answer', schema: {}, description: null }
    const options = {
      tool_choice: 'perhaps',
      reasoning: { effort: 'extreme', summary: 'long' },
      text: { format, verbosity: 'chatty' },
      service_tier: 'standard_only',
    }
    expect(echoOptions({ input: 'Hi', tools, ...options })).to.deep.equal({
      tool_choice: 'auto',
      reasoning: { effort: null, summary: null },
      text: { format: { type: 'json_schema', name: 'answer', schema: {} } },
      service_tier: 'default',
    })
  })

  it('are complete for a list of allowed tools', () => {
    const tool_choice = { type: 'allowed_tools', tools: [{ type: 'function', name: 'find' }] }
    expect(echoOptions({ input: 'Hi', tools, tool_choice }).tool_choice).to.deep.equal({
      ...tool_choice,
      mode: 'auto',
    })
  })
})

describe('listed images and files', () => {
  it('have no values that strict clients do not know', () => {
    const image_url = { url: 'https://example.com/a.png', detail: 'huge' }
    const file = { file_id: 'file-1', filename: null }
    const content = [
      { type: 'image_url', image_url },
      { type: 'file', file },
    ]
    const [item] = toInputItems([{ role: 'user', content }], 'abcdefghijklmnopqrstuvwx')
    expect(item?.content).to.deep.equal([
      { type: 'input_image', image_url: image_url.url, detail: 'auto' },
      { type: 'input_file', file_id: 'file-1' },
    ])
  })
})

import { expect } from 'chai'
import { spliceCompletion } from '../../../../plugins/dispatch/chat/completion.ts'

const EXTENSION = { provider: 'openai', metadata: { rules_position: 3 }, latency_ms: 12 }

/** Returns the spliced completion as a client parses it; undefined if it was not spliced. */
function splice(source: string, extension: Record<string, unknown> = EXTENSION): unknown {
  const spliced = spliceCompletion(source, JSON.parse(source), 'chatcmpl-ours', extension)
  return spliced === undefined ? undefined : JSON.parse(spliced)
}

describe('splicing a completion', () => {
  const native = {
    id: 'chatcmpl-theirs',
    object: 'chat.completion',
    choices: [{ message: { content: '{"id":"chatcmpl-theirs"} "}' } }],
  }
  const expected = { ...native, id: 'chatcmpl-ours', ...EXTENSION }

  it('replaces the id, adds the extension fields and keeps everything else', () => {
    expect(splice(JSON.stringify(native))).to.deep.equal(expected)
  })

  it('accepts any whitespace', () => {
    expect(splice(`\r\n ${JSON.stringify(native, null, 2)}\n\n`)).to.deep.equal(expected)
  })

  const others: Record<string, string> = {
    'that starts with another field': '{"object":"chat.completion","id":"a"}',
    'without an id': '{"object":"chat.completion"}',
    'with an escaped id': '{"id":"a\\u0062","object":"chat.completion"}',
    'with a second id': '{"id":"a","object":"chat.completion","id":"b"}',
    'with nothing but an id': '{"id":"a"}',
    'with one of the extension fields': '{"id":"a","metadata":{"theirs":true}}',
  }
  for (const [name, source] of Object.entries(others)) {
    it(`does not splice one ${name}`, () => {
      expect(splice(source)).to.equal(undefined)
    })
  }

  it('does not splice when there is nothing to add', () => {
    expect(splice(JSON.stringify(native), {})).to.equal(undefined)
  })
})

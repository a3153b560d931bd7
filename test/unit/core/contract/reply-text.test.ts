import { expect } from 'chai'
import {
  createTextTransform,
  GatewayError,
  ReplyEvent,
  type ReplyPart,
} from '../../../../core/contract/index.ts'

const CARD = { pattern: /\d{4}-\d{4}/g, replacement: '[card]', maxMatchLength: 9 }

/** Passes events of these parts through a transform, and returns the parts that come out. */
async function transform(
  events: readonly (readonly ReplyPart[])[],
  rule: Parameters<typeof createTextTransform>[0] = CARD,
): Promise<ReplyPart[]> {
  const { transform, flush } = createTextTransform(rule)
  const transformed: ReplyEvent[] = []
  for (const parts of events) transformed.push(...(await transform(new ReplyEvent(parts))))
  transformed.push(...((await flush?.()) ?? []))
  return transformed.flatMap(({ parts }) => parts)
}

const text = (text: string): ReplyPart => ({ type: 'text', text })
const finish: ReplyPart = { type: 'finish', reason: 'stop' }
const textOf = (parts: readonly ReplyPart[], type = 'text') =>
  parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')

describe('the text transform', () => {
  it('finds a match wherever the stream is split', async () => {
    const whole = 'Pay 1234-5678 now, or 8765-4321.'
    for (let first = 0; first <= whole.length; first++) {
      for (let second = first; second <= whole.length; second++) {
        const chunks = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)]
        const parts = await transform([...chunks.map((chunk) => [text(chunk)]), [finish]])
        expect(textOf(parts)).to.equal('Pay [card] now, or [card].')
        expect(parts.at(-1)).to.equal(finish)
      }
    }
  })

  const AROUND: readonly (readonly [rule: typeof CARD, text: string])[] = [
    [{ ...CARD, pattern: /\b\d{4}-\d{4}\b/g }, '91234-5678, 1234-56789 and 1234-5678'],
    [{ ...CARD, pattern: /(?<=card: )\d{4}/g }, 'ward: 1234, card: 5678, card: 910'],
    [{ ...CARD, pattern: /\d{4}(?= EUR)/g }, '1234 EUR, 5678 USD and 9101 EUR'],
    [{ ...CARD, pattern: /^a|b$/g, maxMatchLength: 1 }, 'ab ab ba ab'],
    [{ ...CARD, pattern: /^- /gm, maxMatchLength: 2 }, '- one\n- two - three'],
    [{ ...CARD, pattern: /x*/g, maxMatchLength: 4 }, 'axxb\u{1f600}x'],
    [{ ...CARD, pattern: /x*/gu, maxMatchLength: 4 }, 'axxb\u{1f600}x'],
  ]

  for (const [rule, whole] of AROUND) {
    it(`replaces ${rule.pattern} alike in whole and in split text`, async () => {
      const expected = whole.replaceAll(rule.pattern, rule.replacement)
      const splits = Array.from({ length: whole.length }, (_, at) => [whole.slice(0, at), whole.slice(at)])
      for (const chunks of [...splits, [...whole], whole.split('')]) {
        const parts = await transform([...chunks.map((chunk) => [text(chunk)]), [finish]], rule)
        expect(textOf(parts), JSON.stringify(chunks)).to.equal(expected)
      }
    })
  }

  it('does not split characters of two code units', async () => {
    const parts = await transform([[text('\u{1f600}'.repeat(20))], [text('1')], [finish]])
    for (const part of parts) if ('text' in part) expect(part.text.isWellFormed()).to.equal(true)
  })

  it('never sends a part of a match', async () => {
    const parts = await transform([[text('1')], [text('234-')], [text('5678')], [finish]])
    expect(parts.some((part) => 'text' in part && /\d/.test(part.text))).to.equal(false)
  })

  it('sends text that no match can include, and holds back the rest', async () => {
    const { transform } = createTextTransform(CARD)
    const [event] = await transform(new ReplyEvent([text('a'.repeat(20))]))
    expect(event?.parts).to.deep.equal([text('a'.repeat(11))])
  })

  it('keeps a match whole that is longer than the text that is held back', async () => {
    const rule = { pattern: /x+/g, replacement: '-', maxMatchLength: 4 }
    expect(textOf(await transform([[text('axxx')], [text('xxxxxx')], [text('b')]], rule))).to.equal('a-b')
  })

  it('keeps answers, reasoning and refusals apart', async () => {
    const parts = await transform([
      [{ type: 'reasoning', text: '1234-' }],
      [text('5678 ')],
      [{ type: 'refusal', text: '1234-5678' }],
      [{ type: 'reasoning', text: '5678' }],
    ])
    expect(textOf(parts)).to.equal('5678 ')
    expect(textOf(parts, 'reasoning')).to.equal('[card]')
    expect(textOf(parts, 'refusal')).to.equal('[card]')
  })

  it('replaces text in the arguments of tool calls, whatever their escapes and pieces', async () => {
    const start: ReplyPart = { type: 'tool-start', index: 0, id: 'call_1', name: 'pay' }
    const json = (json: string): ReplyPart => ({ type: 'tool-json', index: 0, json })
    const parts = await transform([
      [start],
      [json('{"card":"\\u00312')],
      [json('34-5678","n": 12345678901234567890}')],
      [finish],
    ])
    expect(parts).to.deep.equal([start, json('{"card":"[card]","n": 12345678901234567890}'), finish])
  })

  it('leaves arguments without a match byte for byte', async () => {
    const call: ReplyPart = { type: 'tool-json', index: 0, json: '{"n": 12345678901234567890}' }
    expect(await transform([[call], [finish]])).to.deep.equal([call, finish])
  })

  it('returns a whole reply without a match as it is', async () => {
    const event = new ReplyEvent([text('Hello'), finish])
    expect(await createTextTransform(CARD).transform(event)).to.deep.equal([event])
  })

  it('needs a pattern that finds every match', () => {
    expect(() => createTextTransform({ ...CARD, pattern: /a/ })).to.throw(TypeError, 'the flag g')
  })

  describe('with phrases', () => {
    const rule = { phrase: ['project x', 'Project X-ray (new)', 'straße'], replaceWith: '[secret]' }

    it('finds them in any letter case, the longest first, wherever the stream is split', async () => {
      const whole = 'About PROJECT X, project x-RAY (New), Straße.'
      for (let cut = 0; cut <= whole.length; cut++) {
        const parts = await transform([[text(whole.slice(0, cut))], [text(whole.slice(cut))], [finish]], rule)
        expect(textOf(parts)).to.equal('About [secret], [secret], [secret].')
      }
      const parts = await transform(
        [...whole].map((each) => [text(each)]),
        rule,
      )
      expect(textOf(parts)).to.equal('About [secret], [secret], [secret].')
    })

    it('removes them by default, and tells which were found', async () => {
      const found: string[] = []
      const onFound = (phrase: string) => void found.push(phrase)
      const json = (json: string): ReplyPart => ({ type: 'tool-json', index: 0, json })
      const events = [[text('a b')], [text('ad '), json('{"x":"a Bad')], [json(' one"}'), finish]]
      const parts = await transform(events, { phrase: 'bad', onFound })
      expect(parts).to.deep.include(json('{"x":"a  one"}'))
      expect(textOf(parts)).to.equal('a  ')
      expect(found).to.have.members(['bad', 'Bad'])
    })

    it('can end the reply', async () => {
      const refuse = () => {
        throw new GatewayError('refused', 'The reply names a secret.')
      }
      const result = transform([[text('the proj')], [text('ect x')], [finish]], { ...rule, onFound: refuse })
      expect(await result.catch(({ message }: Error) => message)).to.equal('The reply names a secret.')
    })

    it('must not be empty', () => {
      for (const phrase of ['', [], ['a', '']])
        expect(() => createTextTransform({ phrase })).to.throw(TypeError, 'phrase must not be empty')
    })
  })
})

import { expect } from 'chai'
import fc from 'fast-check'
import type { FirewallRule, ReplyPart } from '../../../../core/contract/index.ts'
import { compilePattern } from '../../../../core/patterns/patterns.ts'
import { inspectReply, textEvents, textOf } from '../../../support/inspected-reply.ts'
import { inRounds } from '../../../support/property.ts'
import { ROUNDS } from '../../../support/rounds.ts'
import { firewallRule } from '../../../support/rules.ts'

const regex = (pattern: string, more: Partial<FirewallRule> = {}) =>
  firewallRule({ type: 'regex', pattern, replacement: '<$0>', ...more })

/** Patterns, and a text in which each of them matches. */
const CASES: readonly (readonly [name: string, rules: readonly FirewallRule[], text: string])[] = [
  ['a substring', [firewallRule()], 'One secret, two SeCrEt, a secre t.'],
  ['overlapping beginnings', [firewallRule({ pattern: 'aab' })], 'aaab aab aaaaab ab'],
  ['a word', [regex('\\bcat\\b')], 'cat concat cats a cat. cat'],
  ['a word with PCRE classes', [regex('/\\bñu\\b/u')], 'ñu ñus ñu añu'],
  ['an e-mail address', [regex('[\\w.]+@[\\w.]+\\w')], 'Write to a.b@example.org. Or c@d.e'],
  ['a greedy rest of the line', [regex('key: .*')], 'a key: 1 2 3\nmore key: 4\n\nkey: '],
  ['a lazy span', [regex('/<b>.*?<\\/b>/s')], 'x <b>one\ntwo</b> y <b>three</b> <b>open'],
  ['alternatives of other lengths', [regex('ab|abcd|bc')], 'abcd abc bcd xabx bc'],
  ['the start of a line', [regex('/^x+/m')], 'xx\nyx\nx'],
  ['the end of the text', [regex('end$')], 'end end\nend\n'],
  ['the end of lines', [regex('/end$/m')], 'end end\nend\n'],
  ['a look-ahead', [regex('foo(?=bar)')], 'foo foobar fooba foobar'],
  ['a negative look-ahead', [regex('foo(?!bar)')], 'foobar food foo'],
  ['a look-behind', [regex('(?<=id: )\\d+')], 'id: 123, id:4, 567 id: 8'],
  ['a back-reference', [regex('\\b(\\w+) \\1\\b')], 'It was was not not a knot.'],
  ['possessive quantifiers', [regex('\\d++-\\d++')], '12-34 5-6 7- 8'],
  ['a kept prefix', [regex('token=\\K\\w+')], 'token=abc token= d'],
  ['characters beyond the BMP', [regex('/🔒+x/u')], '🔒🔒x 🔒 🔒x'],
  [
    'a preset',
    [firewallRule({ type: 'preset', pattern: 'card_number' })],
    'Pay 4111 1111 1111 1111, not 4111 1111 1111 1112!',
  ],
  [
    'a rule that sees what another one made',
    [
      firewallRule({ pattern: 'alpha', replacement: 'be' }),
      firewallRule({ pattern: 'beta', replacement: '!' }),
    ],
    'alphata alpha beta alph ata',
  ],
]

describe('the inspection of a stream', () => {
  for (const [name, rules, text] of CASES) {
    it(`masks the same as in a whole reply, wherever chunks end: ${name}`, async () => {
      const { parts } = await inspectReply(rules, textEvents([text]), { type: 'whole' })
      const expected = textOf(parts)
      expect(expected).not.to.equal(text)
      for (let cut = 0; cut <= text.length; cut++) {
        const chunks = [text.slice(0, cut), text.slice(cut)].filter((chunk) => chunk !== '')
        expect(textOf((await inspectReply(rules, textEvents(chunks))).parts), `${cut}`).to.equal(expected)
      }
      const single = await inspectReply(rules, textEvents([...text]))
      expect(textOf(single.parts)).to.equal(expected)
    })
  }

  it('masks and blocks the same as in a whole reply: random patterns, texts and chunks', async () => {
    let matched = 0
    const isSame = async (pattern: string, chunks: readonly string[]) => {
      for (const action of ['mask', 'block'] as const) {
        const rules = [regex(pattern, { action })]
        const whole = await inspectReply(rules, textEvents([chunks.join('')]), { type: 'whole' })
        const streamed = await inspectReply(rules, textEvents(chunks))
        expect(streamed.error?.message).to.equal(whole.error?.message)
        if (whole.error === undefined) expect(textOf(streamed.parts)).to.equal(textOf(whole.parts))
        if (whole.trace.some(({ outcome }) => outcome === 'applied')) matched++
      }
    }
    const chunk = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), minLength: 1, maxLength: 3 })
    const chunks = fc.array(chunk, { minLength: 1, maxLength: 7 })
    await fc.assert(fc.asyncProperty(patterns(), chunks, isSame), inRounds(ROUNDS.replyPatterns))
    expect(matched).to.be.greaterThan(ROUNDS.replyPatterns / 3)
  })

  it('gives the result of a whole reply for many rules, of which a few look at each chunk', async () => {
    const words = ['alpha', 'alphabet', 'beta', 'gamma ray', 'gamma', 'delta', '$', 'eta theta']
    const rules = words.flatMap((word, index) => [
      firewallRule({ pattern: word, replacement: words[index + 1] ?? null }),
      regex(`${word.replace('$', '\\$')}\\b.x`, { action: 'warn', name: word }),
      regex(`(?<=${word.replace('$', '\\$')})y*`, { action: 'mask', replacement: '+' }),
    ])
    const text = 'alphabeta gamma rays x alpha.x eta thetayy $ delta-x'
    const whole = await inspectReply(rules, textEvents([text]), { type: 'whole' })
    for (const chunks of [[...text], text.split(/(?= )/), text.split(/(?<=[ae])/)]) {
      const streamed = await inspectReply(rules, textEvents(chunks))
      expect(textOf(streamed.parts)).to.equal(textOf(whole.parts))
      expect(streamed.warnings).to.have.deep.members(whole.warnings)
    }
  })

  describe('holds back only what could become a match', () => {
    it('and nothing of other texts', async () => {
      const rules = [firewallRule({ action: 'block' }), regex('\\d{4}-\\d{4}')]
      const { steps } = await inspectReply(rules, textEvents(['Hello ', 'there se', 'ven', ' 12', ' ok']))
      expect(steps.map((parts) => textOf(parts))).to.deep.equal([
        'Hello ',
        'there ',
        'seven',
        ' ',
        '12 ok',
        '',
      ])
    })

    it('in one text, however many kinds of text there are', async () => {
      const events = [
        ...textEvents(['a se'], 'reasoning'),
        ...textEvents(['cr'], 'text'),
        [{ type: 'finish', reason: 'stop' }] as const,
      ]
      const { steps } = await inspectReply([firewallRule()], events)
      expect(steps).to.deep.equal([
        [{ type: 'reasoning', text: 'a ' }],
        [
          { type: 'reasoning', text: 'se' },
          { type: 'text', text: 'cr' },
        ],
        [{ type: 'finish', reason: 'stop' }],
        [],
      ])
    })

    it('up to the limit; then the sentences that are complete are sent', async () => {
      const rules = [regex('/begin.*end/s', { action: 'block' })]
      const words = Array.from({ length: 400 }, (_, index) => (index % 10 === 9 ? 'stop. ' : 'word '))
      const { steps, parts, error } = await inspectReply(rules, textEvents(['begin ', ...words, 'end']), {
        holdBackChars: 200,
      })
      expect(error).to.equal(undefined)
      expect(textOf(parts)).to.equal(`begin ${words.join('')}end`)
      let held = 0
      let longest = 0
      const received = ['begin ', ...words, 'end', '']
      for (const [index, sent] of steps.entries()) {
        held += (received[index] ?? '').length - textOf(sent).length
        longest = Math.max(longest, held)
      }
      const [first] = steps.map((sent) => textOf(sent)).filter((sent) => sent !== '')
      expect(first).to.match(/^begin .*stop\. $/)
      expect(longest).to.be.within(150, 200)
    })

    it('in windows in which shorter matches are still found', async () => {
      const rules = [regex('/begin.*end/s')]
      const filler = 'nothing to see. '.repeat(30)
      const chunks = [...`begin ${filler}begin now end. ${filler}`]
      const { parts } = await inspectReply(rules, textEvents(chunks), { holdBackChars: 200 })
      expect(textOf(parts)).to.equal(`begin ${filler}<begin now end>. ${filler}`)
    })

    it('without white space, too', async () => {
      const rules = [regex('/x.*y/')]
      for (const chunks of [[...'x'.repeat(999)], ['x'.repeat(999), 'x']]) {
        const { steps, parts } = await inspectReply(rules, textEvents(chunks), { holdBackChars: 100 })
        expect(textOf(parts)).to.equal(chunks.join(''))
        expect(textOf(steps.at(-1) ?? []).length).to.be.at.most(100)
      }
    })

    it('and masks a match that is longer than the limit as one', async () => {
      const rules = [firewallRule({ type: 'regex', pattern: 'key=\\S+' })]
      const chunks = [...`a key=${'x'.repeat(3000)} b`]
      const { parts, error } = await inspectReply(rules, textEvents(chunks), { holdBackChars: 100 })
      expect(error).to.equal(undefined)
      expect(textOf(parts)).to.equal('a [redacted] b')
    })

    it('and refuses a match that never ends', async () => {
      const rules = [firewallRule({ type: 'regex', pattern: 'key=\\S+' })]
      const chunks = ['a key=', ...Array.from({ length: 70 }, () => 'x'.repeat(1000))]
      const { parts, error } = await inspectReply(rules, textEvents(chunks))
      expect(error).to.include({ code: 'firewall_blocked', status: 403 })
      expect(error?.message).to.contain('more text of the stream than can be held back')
      expect(textOf(parts)).to.equal('a ')
    })
  })

  for (const action of ['block', 'mask', 'warn'] as const)
    it(`decides alike about words divided between text and refusal, whole and streamed: ${action}`, async () => {
      const rules = [firewallRule({ action })]
      const text = 'A secret word'
      for (const kinds of [['text', 'refusal', 'text'] as const, ['refusal', 'text', 'refusal'] as const])
        for (let border = 0; border < text.length; border++) {
          const pieces = [text.slice(0, border), text.slice(border, border + 4), text.slice(border + 4)]
          const parts = kinds.map((type, index): ReplyPart => ({ type, text: pieces[index] ?? '' }))
          const chars = kinds.flatMap((type, index) => textEvents([...(pieces[index] ?? '')], type))
          const whole = await inspectReply(rules, [parts], { type: 'whole' })
          const streamed = await inspectReply(rules, chars)
          const context = JSON.stringify(pieces)
          const isDivided = !pieces.some((piece) => piece.includes('secret'))
          expect(whole.error !== undefined, context).to.equal(
            action === 'block' || (action === 'mask' && isDivided),
          )
          expect(streamed.error?.message, context).to.equal(whole.error?.message)
          expect(streamed.warnings, context).to.deep.equal(whole.warnings)
        }
    })

  describe('ends at a rule that blocks', () => {
    for (const kind of ['text', 'reasoning', 'refusal'] as const) {
      it(`in ${kind}, and sends nothing of the match, wherever chunks end`, async () => {
        const text = 'This is top secret stuff'
        for (let cut = 0; cut <= text.length; cut++) {
          const events = textEvents([text.slice(0, cut), text.slice(cut)], kind)
          const rules = [firewallRule({ pattern: 'top secret', action: 'block', name: 'No', id: 7 })]
          const { parts, error, trace } = await inspectReply(rules, events)
          expect('This is '.startsWith(textOf(parts, kind)), String(cut)).to.equal(true)
          expect(error?.message).to.equal('Request blocked by firewall rule "No".')
          expect(error?.details.meta).to.deep.equal({ rule_id: 7 })
          const entry = { kind: 'firewall', rule_id: 7, name: 'No', action: 'block', outcome: 'applied' }
          expect(trace).to.deep.equal([{ ...entry, scope: 'response' }])
        }
      })
    }

    it('over many events', async () => {
      const rules = [regex('/alpha(.)+omega/s', { action: 'block' })]
      const text = `the alpha ${'and then some '.repeat(100)}omega point`
      const { parts, error } = await inspectReply(rules, textEvents([...text]))
      expect(error?.code).to.equal('firewall_blocked')
      expect(textOf(parts)).to.equal('the ')
    })

    it('though something else came between the parts of the match', async () => {
      const events = [
        ...textEvents(['top sec']),
        [{ type: 'tool-start', index: 0, id: 'call', name: 'f' }] as const,
        ...textEvents(['ret']),
      ]
      const { parts, error } = await inspectReply([firewallRule({ action: 'block' })], events)
      expect(error?.code).to.equal('firewall_blocked')
      expect(textOf(parts)).to.equal('top sec')
      const masked = await inspectReply([firewallRule()], events)
      expect(textOf(masked.parts)).to.equal('top sec[redacted]')
    })
  })

  it('warns once, and holds nothing back', async () => {
    const rules = [firewallRule({ action: 'warn', name: 'Careful' })]
    const { steps, warnings, trace } = await inspectReply(rules, textEvents(['sec', 'ret secret', ' secret']))
    expect(steps.map((parts) => textOf(parts))).to.deep.equal(['sec', 'ret secret', ' secret', ''])
    const message = 'Firewall rule "Careful" triggered.'
    expect(warnings).to.deep.equal([{ code: 'firewall', message, scope: 'response' }])
    expect(trace).to.have.length(1)
  })

  describe('of tool calls', () => {
    const json = '{"to": "a secret", "amount": 12345678901234567890, "secret key": [1.0, "x\\u0073ecret"]}'
    const events = [
      [{ type: 'tool-start', index: 0, id: 'call_0', name: 'secret_tool' }] as const,
      [{ type: 'tool-start', index: 1, id: 'call_1', name: 'run', custom: true }] as const,
      ...[...json].map((piece) => [{ type: 'tool-json', index: 0, json: piece }] as const),
      [{ type: 'tool-json', index: 1, json: 'echo secret' }] as const,
      [{ type: 'finish', reason: 'tool_calls' }] as const,
    ]
    for (const type of ['stream', 'whole'] as const) {
      const given = type === 'stream' ? events : [events.flat()]

      it(`edits JSON in its own text: ${type}`, async () => {
        const rules = [firewallRule(), firewallRule({ type: 'regex', pattern: '^123\\d+', replacement: 'n' })]
        const { parts } = await inspectReply(rules, given, { type })
        const held = parts.filter((part) => part.type === 'tool-json')
        expect(held).to.deep.equal([
          {
            type: 'tool-json',
            index: 0,
            json: '{"to": "a [redacted]", "amount": "n", "[redacted] key": [1.0, "x[redacted]"]}',
          },
          { type: 'tool-json', index: 1, json: 'echo [redacted]' },
        ])
        expect(parts.filter((part) => part.type === 'tool-start')).to.deep.equal([
          events[0]?.[0],
          events[1]?.[0],
        ])
      })

      it(`blocks before anything of the arguments is sent: ${type}`, async () => {
        const rules = [firewallRule({ pattern: '12345678901234567890', action: 'block' })]
        const { parts, error } = await inspectReply(rules, given, { type })
        expect(error?.code).to.equal('firewall_blocked')
        expect(parts.some((part) => part.type === 'tool-json')).to.equal(false)
      })

      it(`refuses a mask that cannot be applied: ${type}`, async () => {
        const rules = [firewallRule({ pattern: '"to": "a', action: 'mask' })]
        const { error } = await inspectReply(rules, given, { type })
        expect(error?.message).to.contain('cannot be masked')
      })
    }

    it('refuses arguments that are too long to hold', async () => {
      const piece = [{ type: 'tool-json', index: 0, json: 'x'.repeat(250_000) }] as const
      const start = events.slice(0, 1)
      const { error } = await inspectReply([firewallRule()], [...start, piece, piece, piece, piece, piece])
      expect(error?.code).to.equal('firewall_timeout')
      expect(error?.message).to.contain('longer than 1000000 characters')
    })
  })

  describe('with a pattern that does not finish', () => {
    const slow = { type: 'regex', pattern: '(a+)+(?![a!])', name: 'Slow' } as const
    const events = textEvents(['It is: ', `${'a'.repeat(40)}!`, ' or more'])
    const options = { cpuMs: 50 } as const

    for (const type of ['stream', 'whole'] as const) {
      const given = type === 'stream' ? events : [events.flat()]

      it(`ends the reply: ${type}`, async () => {
        for (const action of ['block', 'mask'] as const) {
          const { error, trace, parts } = await inspectReply([firewallRule({ ...slow, action })], given, {
            ...options,
            type,
          })
          expect(error).to.include({ code: 'firewall_timeout', status: 403 })
          expect(trace[0]).to.include({ outcome: 'skipped', reason: 'time_limit', scope: 'response' })
          expect(textOf(parts)).not.to.contain('aaa')
        }
      })

      it(`warns if the rule warns, or if that is allowed: ${type}`, async () => {
        for (const more of [{ action: 'warn' }, { action: 'block' }] as const) {
          const { error, warnings, parts } = await inspectReply([firewallRule({ ...slow, ...more })], given, {
            ...options,
            type,
            onTimeout: 'allow',
          })
          expect(error).to.equal(undefined)
          expect(warnings.map(({ message }) => message)).to.deep.equal([
            'Firewall rule "Slow" was not evaluated: its pattern exceeded the time limit.',
          ])
          expect(textOf(parts)).to.equal(textOf(events.flat()))
        }
      })
    }
  })
})

/** Patterns of a few characters, with everything that can look ahead or behind. */
function patterns(): fc.Arbitrary<string> {
  const leaf = fc.constantFrom('a', 'b', '[ab]', '.', '\\w', ' ', 'ab', '\\s', '[^a]')
  const { node } = fc.letrec<{ node: string }>((tie) => {
    const inner = tie('node')
    const build = (parts: (first: string, second: string, mark: string) => string, ...marks: string[]) =>
      fc
        .tuple(inner, inner, fc.constantFrom(...marks, ...(marks.length === 0 ? [''] : [])))
        .map((values) => parts(...values))
    return {
      node: fc.oneof(
        { maxDepth: 3, depthSize: 'max' },
        leaf,
        build((first, second) => `(?:${first}|${second})`),
        build((first, _, mark) => `(${first})${mark}`, '*', '+', '?', '{2}', '{1,3}', '*?', '+?', '++', '?+'),
        build((first, _, mark) => first + mark, '\\b', '\\B', '$', '\\z', '\\Z'),
        build((first, _, mark) => mark + first, '\\b', '\\B', '^'),
        build((first, second, mark) => `${first}(?${mark}${second})`, '=', '!'),
        build((first, _, mark) => `(?<${mark})${first}`, '=a', '=b ', '=[ab]', '!a', '!b ', '![ab]'),
        build((first) => `(${first})\\1`),
        build((first, second) => `(?>${first})${second}`),
        build((first, second) => `${first}\\K${second}`),
        build((first, second) => first + second),
      ),
    }
  })
  return fc
    .tuple(node, fc.constantFrom('', 'm', 's', 'u', 'D'))
    .map(([text, flags]) => `/${text}/${flags}`)
    .filter((text) => !('error' in compilePattern({ kind: 'regex', text })))
}

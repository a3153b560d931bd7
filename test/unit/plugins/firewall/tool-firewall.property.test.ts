import { expect } from 'chai'
import fc from 'fast-check'
import { inRounds } from '../../../support/property.ts'
import { IS_FULL } from '../../../support/rounds.ts'
import { firewallRule } from '../../../support/rules.ts'
import { inspectToolText } from '../../../support/tool-firewall.ts'

/** A JSON text, and what masks leave of it. */
interface Pair {
  readonly source: string
  readonly masked: string
}

const RULES = [
  firewallRule({ pattern: 'secret', replacement: '***' }),
  firewallRule({ pattern: '4[67]11', type: 'regex', replacement: null }),
]

/** What the rules do to one text. */
const maskText = (text: string) => text.replaceAll(/secret/gi, '***').replaceAll(/4[67]11/g, '[redacted]')

const space = fc.constantFrom('', '', ' ', '\n\t', ' \r\n')

const text = fc
  .array(
    fc.constantFrom('secret', 'SECRET', '4711', ' ', '-', 'é', '"', '\\', '\n', '\ud83d\ude00', '/', 'a'),
    {
      maxLength: 6,
    },
  )
  .map((words) => words.join(''))

/** A string with escapes. One that stays keeps them, one that is masked does not. */
function stringOf(content: fc.Arbitrary<string>): fc.Arbitrary<Pair> {
  return fc.tuple(content, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })).map(([value, escaped]) => {
    const literal = Array.from({ length: value.length }, (_, index) => {
      const unit = value[index] ?? ''
      if (escaped[index % 8]) return `\\u${value.charCodeAt(index).toString(16).padStart(4, '0')}`
      return unit === '/' ? '\\/' : /["\\\n]/.test(unit) ? JSON.stringify(unit).slice(1, -1) : unit
    }).join('')
    const source = `"${literal}"`
    const masked = maskText(value)
    return { source, masked: masked === value ? source : JSON.stringify(masked) }
  })
}

const number = fc
  .constantFrom('0', '-1.50', '4711', '-4711', '47110', '4711.25', '1e3', '12345678901234567890', '4.711e3')
  .map((source): Pair => {
    const usual = String(Number(source))
    const masked =
      maskText(source) === source ? (maskText(usual) === usual ? source : maskText(usual)) : maskText(source)
    return { source, masked: masked === source ? source : JSON.stringify(masked) }
  })

const literal = fc.constantFrom('true', 'false', 'null').map((source): Pair => ({ source, masked: source }))

/** Joins pairs with the same white space on both sides. */
function join(pairs: readonly Pair[], spaces: readonly string[], open: string, close: string): Pair {
  const put = (side: keyof Pair) =>
    open + pairs.map((pair, index) => (spaces[index % spaces.length] ?? '') + pair[side]).join(',') + close
  return { source: put('source'), masked: put('masked') }
}

const spaces = fc.array(space, { minLength: 1, maxLength: 3 })

const { value } = fc.letrec<{ value: Pair; list: Pair; object: Pair }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, stringOf(text), number, literal, tie('list'), tie('object')),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 4 }), spaces)
    .map(([pairs, between]) => join(pairs, between, '[', ' ]')),
  object: fc
    .tuple(fc.array(fc.tuple(text, tie('value'), fc.nat()), { maxLength: 4 }), spaces)
    .chain(([fields, between]) =>
      fc.tuple(...fields.map(([name], index) => stringOf(fc.constant(`${name} n${index}`)))).map((names) => {
        const pairs = (names as readonly Pair[]).map((name, index): Pair => {
          const field = fields[index]?.[1] ?? { source: '', masked: '' }
          return { source: `${name.source} : ${field.source}`, masked: `${name.masked} : ${field.masked}` }
        })
        return join(pairs, between, '{', '\n}')
      }),
    ),
}))

const block = fc.oneof(
  stringOf(text.filter((content) => !/^\s*["[{]/.test(content))).map((part) =>
    join([wrap('"text":', part)], [''], '{"type":"text",', '}'),
  ),
  value.map((part) => join([wrap('"unknown":', part)], [''], '{"type":"other", ', '}')),
)

function wrap(before: string, { source, masked }: Pair): Pair {
  return { source: before + source, masked: before + masked }
}

const result = fc
  .tuple(fc.option(block), fc.option(value), fc.option(value))
  .map(([content, structured, more]) =>
    join(
      [
        ...(content ? [wrap('"content": ', join([content], ['  '], '[', ']'))] : []),
        ...(structured ? [wrap('"structuredContent":', structured)] : []),
        ...(more ? [wrap('"more": ', more)] : []),
        { source: '"isError" : false', masked: '"isError" : false' },
      ],
      ['\n'],
      '{',
      '}',
    ),
  )

describe('masks in JSON texts of tools', () => {
  async function check(
    scope: 'tool_call' | 'tool_result' | 'prompt',
    { source, masked }: Pair,
  ): Promise<void> {
    JSON.parse(source)
    const { json, error } = await inspectToolText(scope, source, { rules: RULES })
    expect(json ?? error?.message).to.equal(masked)
  }

  it('change what matches in arguments, and no other byte', async () => {
    await fc.assert(
      fc.asyncProperty(value, (pair) => check('tool_call', pair)),
      inRounds(1000),
    )
  })

  it('change what matches in results, and no other byte', async () => {
    await fc.assert(
      fc.asyncProperty(result, (pair) => check('tool_result', pair)),
      inRounds(1000),
    )
    await fc.assert(
      fc.asyncProperty(result, (pair) => check('prompt', pair)),
      inRounds(300),
    )
  })

  it('change what matches in long strings, wherever their pieces end', async () => {
    const long = fc
      .tuple(fc.array(fc.nat(12), { minLength: 3, maxLength: 3 }), text)
      .chain(([lengths, inner]) =>
        stringOf(
          fc.constant(lengths.map((length) => `${'é'.repeat(65_530 - 6 + length)}${inner}secret`).join('')),
        ),
      )
    const content = long.map((part) =>
      wrap('{"content":[{"text":', { source: `${part.source}}]}`, masked: `${part.masked}}]}` }),
    )
    await fc.assert(
      fc.asyncProperty(content, (pair) => check('tool_result', pair)),
      inRounds(IS_FULL ? 30 : 4),
    )
    await fc.assert(
      fc.asyncProperty(long, (pair) => check('tool_call', pair)),
      inRounds(IS_FULL ? 30 : 4),
    )
  })
})

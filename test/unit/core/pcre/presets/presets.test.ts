import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { literalReplacement } from '../../../../../core/pcre/pattern.ts'
import { listPresets, PRESETS } from '../../../../../core/pcre/presets/presets.ts'
import { compiled, patternRun } from '../../../../support/pattern-run.ts'
import { createRandom, type Random } from '../../../../support/random.ts'
import { ROOT } from '../../../../support/root.ts'

const MASK = literalReplacement('[x]')

const digits = (random: Random, count: number) =>
  Array.from({ length: count }, () => random.integer(10)).join('')
const hex = (random: Random, count: number) =>
  Array.from({ length: count }, () => random.integer(16).toString(16)).join('')

/** Texts with numbers in which presets must find nothing, or next to nothing. */
const ORDINARY_TEXTS: Readonly<Record<string, (random: Random) => string>> = {
  timestamps: (random) =>
    `2026-1${random.integer(3)}-${10 + random.integer(18)}T10:42:5${digits(random, 1)}.${digits(random, 6)}Z\n`,
  'times in seconds': (random) => `1${7 + random.integer(2)}${digits(random, 8)}\n`,
  UUIDs: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}\n`,
  versions: (random) =>
    `${random.integer(130)}.${random.integer(9)}.${random.integer(6999)}.${digits(random, 2)}b\n`,
  dates: (random) => `am ${1 + random.integer(28)}.${1 + random.integer(12)}.20${digits(random, 2)} – `,
  prices: (random) => `${1 + random.integer(9999)}.${digits(random, 2)} EUR\n`,
  colours: (random) => `#${hex(random, 6)}; width: ${random.integer(100)}px;\n`,
  'hexadecimal numbers': (random) => `0x${hex(random, 8)}, `,
  'columns of numbers': (random) => `${1000 + random.integer(9000)}\n`,
  'columns of small numbers': (random) => `${random.integer(1000)}\n`,
  'tables of numbers': (random) => `${1000 + random.integer(9000)}\t${random.integer(1000)}\t`,
  'lists of numbers': (random) => `${1000 + random.integer(9000)}, `,
  'prose in German': (random) =>
    `Es waren ${digits(random, 2)} Tage, de ${digits(random, 2)} und in 19${digits(random, 2)} – `,
}

describe('the preset', () => {
  for (const { name, examples } of PRESETS) {
    const preset = () => compiled(name, 'preset')

    it(`${name} finds its examples, alone and in a text`, async () => {
      for (const example of examples.valid) {
        for (const text of [example, `It is ${example}.`, `(${example}), "${example}"`, `1 2 3 ${example}\n`])
          expect(await preset().test(text, patternRun()), text).to.equal(true)
      }
    })

    it(`${name} does not find what only looks similar`, async () => {
      for (const example of examples.invalid) {
        for (const text of [example, `It is ${example}.`])
          expect(await preset().test(text, patternRun()), text).to.equal(false)
      }
    })

    it(`${name} masks its examples and nothing around them`, async () => {
      const [first] = examples.valid
      const replaced = await preset().replace(`a ${first}; ${first} b`, MASK, patternRun())
      expect(replaced).to.match(/^a .{0,60}\[x\].*; .{0,60}\[x\].* b$/s)
      expect(await preset().test(replaced, patternRun())).to.equal(false)
    })
  }

  it('is small enough to be searched together with other patterns', () => {
    // Of many words, which a list of phrases cannot do without: searched for on its own.
    for (const { name } of PRESETS)
      if (name !== 'instruction_override') expect(compiled(name, 'preset').positions, name).to.be.at.most(300)
  })

  it('card_number masks a card up to its last digit', async () => {
    const text = 'Order 12345 paid with 4111 1111 1111 1111 12/27 and 123456 378282246310005.'
    const masked = await compiled('card_number', 'preset').replace(text, MASK, patternRun())
    expect(masked).to.equal('Order 12345 paid with [x] 12/27 and 123456 [x].')
  })

  it('masks many numbers in a long text of other spellings within its time limit', async () => {
    const row = 'Karte – 4111 1111 1111 1111\n'
    const masked = await compiled('card_number', 'preset').replace(row.repeat(8000), MASK, patternRun())
    expect(masked).to.equal('Karte – [x]\n'.repeat(8000))
  })

  it('iban leaves the text behind an account number', async () => {
    const masked = await compiled('iban', 'preset').replace('NL91ABNA0417164300 AND MORE', MASK, patternRun())
    expect(masked).to.equal('[x] AND MORE')
  })

  for (const [kind, make] of Object.entries(ORDINARY_TEXTS)) {
    it(`does not find more in ${kind} than chance explains`, async () => {
      const random = createRandom(1)
      const text = Array.from({ length: 1000 }, () => make(random)).join('')
      const found: Record<string, number> = {}
      for (const { name } of PRESETS) {
        const masked = await compiled(name, 'preset').replace(text, MASK, patternRun())
        const count = masked.split('[x]').length - 1
        if (count > 0) found[name] = count
      }
      const total = Object.values(found).reduce((sum, count) => sum + count, 0)
      expect(total, JSON.stringify(found)).to.be.at.most(2)
    })
  }

  it('is documented', () => {
    const page = readFileSync(new URL('docs/firewall-presets.md', ROOT), 'utf8')
    for (const { name, description, checked } of listPresets())
      expect(page).to.contain(`| \`${name}\` | ${description} | ${checked ?? ''} |`)
  })

  it('has a unique name', () => {
    expect(new Set(PRESETS.map(({ name }) => name)).size).to.equal(PRESETS.length)
  })
})

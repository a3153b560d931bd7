import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { listPresets, PRESETS } from '../../../../../core/pcre/presets/presets.ts'
import { literalReplacement } from '../../../../../core/pcre/replacement.ts'
import { compiled, patternRun } from '../../../../support/pattern-run.ts'
import { ROOT } from '../../../../support/root.ts'

const MASK = literalReplacement('[x]')

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
    for (const { name } of PRESETS) expect(compiled(name, 'preset').positions, name).to.be.at.most(300)
  })

  it('card_number masks a card up to its last digit', async () => {
    const text = 'Order 12345 paid with 4111 1111 1111 1111 12/27 and 123456 378282246310005.'
    const masked = await compiled('card_number', 'preset').replace(text, MASK, patternRun())
    expect(masked).to.equal('Order 12345 paid with [x] 12/27 and 123456 [x].')
  })

  it('iban leaves the text behind an account number', async () => {
    const masked = await compiled('iban', 'preset').replace('NL91ABNA0417164300 AND MORE', MASK, patternRun())
    expect(masked).to.equal('[x] AND MORE')
  })

  it('is documented', () => {
    const page = readFileSync(new URL('docs/firewall.md', ROOT), 'utf8')
    for (const { name, description, checked } of listPresets())
      expect(page).to.contain(`| \`${name}\` | ${description} | ${checked ?? ''} |`)
  })

  it('has a unique name', () => {
    expect(new Set(PRESETS.map(({ name }) => name)).size).to.equal(PRESETS.length)
  })
})

import { expect } from 'chai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { estimateScriptTokens, estimateTextTokens, tokenizerOf } from '../../../../core/tokens/text-tokens.ts'
import { CODE, PROSE } from '../../../support/languages.ts'

describe('the estimate of the tokens of a text', () => {
  for (const [name, text] of Object.entries({ ...PROSE, ...CODE })) {
    it(`is within 15 percent of o200k: ${name}`, () => {
      expect(estimateTextTokens(text) / countTokens(text)).to.be.within(0.85, 1.15)
    })
  }

  it('holds for long texts, which are sampled', () => {
    const text = Object.values({ ...PROSE, ...CODE })
      .join('\n')
      .repeat(60)
    expect(text.length).to.be.greaterThan(300_000)
    expect(estimateTextTokens(text) / countTokens(text)).to.be.within(0.85, 1.15)
  })

  it('holds for long texts that are made to have few tokens where samples are likely', () => {
    const dense = '!x9@Q#z$K%'.repeat(800)
    for (const size of [128, 256, 1024])
      for (const count of [20, 32, 64, 128]) {
        const text = (' '.repeat(size) + dense).repeat(count)
        const tokens = count * countTokens(dense)
        expect(estimateTextTokens(text) / tokens, `${size} × ${count}`).to.be.within(0.6, 1.5)
      }
  })

  it('does not take white space and rare characters for nothing', () => {
    const from = (code: number, step: number) =>
      String.fromCharCode(...Array.from({ length: 1500 }, (_, index) => code + ((index * step) % 400)))
    const spaces = Array.from({ length: 2000 }, (_, index) => ' \t \n  \t'[(index * index) % 7]).join('')
    for (const text of [from(0xe000, 37), from(0x3400, 91), from(0xfb50, 53), spaces])
      expect(estimateTextTokens(text) / countTokens(text)).to.be.within(0.6, 2)
  })

  it('holds for data in text form', () => {
    const bytes = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919) >> 3))
    for (const text of [bytes.toString('base64'), bytes.toString('hex'), '12345678 '.repeat(400)])
      expect(estimateTextTokens(text) / countTokens(text)).to.be.within(0.8, 1.25)
  })

  it('is the sum over the words, the marks and the digits, whatever they are beside', () => {
    const words = ['The', 'committee', 'I', 'été', 'Straße', 'nuove', 'HTTP', 'zzyzx', 'слово', '漢字', 'a']
    /** What follows a word, and what it adds before another one. */
    const between = [
      ...[' ', ' ', ' ', "'", '/', '_'].map((text) => ({ text, tokens: 0 })),
      ...[', ', '. ', ' (', '!\n', '\n', '  ', ' - '].map((text) => ({ text, tokens: 1 })),
      { text: '...\n', tokens: 1.45 },
      { text: ' 1234 ', tokens: 3 },
      { text: '; 12 ', tokens: 3 },
    ]
    let seed = 1
    const pick = <Item>(items: readonly Item[]) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
      return items[Math.floor((seed / 2 ** 32) * items.length)] as Item
    }
    for (let round = 0; round < 300; round++) {
      let text = ''
      const sums = [...estimateScriptTokens([''])]
      for (let count = 0; count < round % 40; count++) {
        const word = pick(words)
        const { text: separator, tokens } = pick(between)
        // A mark before a letter of another script is a token of its own.
        const letter = /^['/_]$/.test(separator) ? 'x' : ''
        for (const part of [word, letter])
          estimateScriptTokens([part]).forEach((cost, script) => {
            sums[script] = (sums[script] ?? 0) + cost
          })
        sums[0] = (sums[0] ?? 0) + tokens
        text += word + separator + letter + (letter && ' ')
      }
      const counts = estimateScriptTokens([`${text}a`])
      sums[0] = (sums[0] ?? 0) + 1
      counts.forEach((cost, script) => {
        expect(cost, `${script} ${text}`).to.be.closeTo(sums[script] ?? 0, 1e-6)
      })
    }
  })

  it('depends on the tokenizer of the model', () => {
    expect(tokenizerOf('anthropic/claude-opus-5')).to.equal('claude')
    expect(tokenizerOf('google/Gemini-3.8-flash')).to.equal('gemini')
    expect(tokenizerOf('codestral-2601')).to.equal('mistral')
    expect(tokenizerOf('deepseek-flash')).to.equal('deepseek')
    expect(tokenizerOf('gpt-6-sol')).to.equal('o200k')
    const { Hindi = '' } = PROSE
    expect(estimateTextTokens(Hindi, 'claude')).to.be.greaterThan(2 * estimateTextTokens(Hindi))
    expect(estimateTextTokens('')).to.equal(0)
  })
})

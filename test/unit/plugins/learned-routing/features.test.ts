import { expect } from 'chai'
import {
  createFeatureKey,
  decodeFeatures,
  EncodedFeaturesError,
  encodeFeatures,
  extractFeatures,
  hashUnits,
  NUMBER_NAMES,
  WINDOW_UNITS,
} from '../../../../plugins/learned-routing/features.ts'
import { createRandom } from '../../../support/random.ts'

const KEY = createFeatureKey('secret of a log')
const extract = (lastUserMessage: string, systemPrompt?: string) =>
  extractFeatures({ lastUserMessage, systemPrompt }, KEY)
const bucketsOf = (text: string) => [...extract(text).indices]
const numbersOf = (text: string) =>
  Object.fromEntries(NUMBER_NAMES.map((name, at) => [name, extract(text).numbers[at]]))

describe('the features of a prompt', () => {
  it('are its words and pairs of words, whatever their case and the symbols around them', () => {
    const words = [...bucketsOf('hello'), ...bucketsOf('(world)')]
    const all = bucketsOf('Hello, WORLD!')
    expect(all).to.have.length(3).and.to.include.members(words)
    expect(bucketsOf('hello world hello world')).to.include.members(all)
    const pairs = all.filter((bucket) => !words.includes(bucket))
    expect(bucketsOf('world hello')).to.not.include.members(pairs)
  })

  it('do not keep the digits of numbers', () => {
    expect(extract('card 4111 1111')).to.deep.equal(extract('card 5500 0000'))
    expect(bucketsOf('year 20')).to.not.deep.equal(bucketsOf('year 2000'))
  })

  it('take letters of scripts without spaces as words', () => {
    expect(bucketsOf('東京都')).to.have.length(5)
    expect(bucketsOf('東京')).to.include.members(bucketsOf('東'))
    expect(bucketsOf('東京都')).to.include.members(bucketsOf('東京'))
    expect(bucketsOf('москва')).to.have.length(1)
    expect(bucketsOf('МОСКВА')).to.deep.equal(bucketsOf('москва'))
    expect(bucketsOf('서울 시')).to.have.length(3)
  })

  it('count characters outside the BMP as words, and read split ones', () => {
    expect(bucketsOf('😀')).to.have.length(1)
    expect(bucketsOf('😀')).to.not.deep.equal(bucketsOf('😁'))
    const half = '😀'.slice(0, 1)
    expect(bucketsOf(half)).to.have.length(1)
    expect(bucketsOf('😀'.slice(1))).to.have.length(1)
    expect(bucketsOf(`${half}a`)).to.include.members(bucketsOf('a'))
  })

  it('know a system prompt by its beginning, end and length', () => {
    const long = 'x'.repeat(5000)
    const only = (prompt: string) => [...extract('', prompt).indices]
    expect(only('You translate.')).to.have.length(1)
    expect(only('You translate.')).to.not.deep.equal(only('You summarize.'))
    expect(only(`a${long}`)).to.not.deep.equal(only(`b${long}`))
    expect(only(`${long}a`)).to.not.deep.equal(only(`${long}b`))
    expect(only(long)).to.not.deep.equal(only(`${long}x`))
    expect(only('hello')).to.not.deep.equal(bucketsOf('hello'))
    expect(only('')).to.deep.equal([])
  })

  it('are empty for an empty text, and for symbols only', () => {
    expect(extract('').indices).to.have.length(0)
    expect([...extract('').numbers]).to.deep.equal(NUMBER_NAMES.map(() => 0))
    expect(bucketsOf(' \n\t{}[]();')).to.deep.equal([])
  })

  it('have numbers for length, words, capitals, digits, symbols, lines and questions', () => {
    expect(numbersOf('abc')).to.include({ length: 2, words: 1, word_length: 3, capitals: 0 })
    expect(numbersOf('ABCD')).to.include({ capitals: 4 })
    expect(numbersOf('1 + ').digits).to.equal(2)
    expect(numbersOf('1 + ').symbols).to.equal(2)
    expect(numbersOf('a\nb\nc\n').lines).to.equal(2)
    expect(numbersOf('why?').questions).to.equal(1)
    expect(numbersOf('東京').non_ascii).to.equal(4)
    expect(numbersOf('a a a a').repeated_words).to.be.above(2)
  })

  it('are keyed', () => {
    const other = extractFeatures({ lastUserMessage: 'Hello world' }, createFeatureKey('another secret'))
    expect(other.indices).to.not.deep.equal(extract('Hello world').indices)
    expect(other.numbers).to.deep.equal(extract('Hello world').numbers)
  })

  it('do not depend on the prompts before', () => {
    const before = extract('Summarize this text.')
    extract('x y z '.repeat(9000), 'Another')
    expect(extract('Summarize this text.')).to.deep.equal(before)
  })

  it('read the first and the last 8 KB', () => {
    const words = (salt: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${salt}${n % 7}`).join(' ')
    const [head, tail] = [words('a', 5000).slice(0, WINDOW_UNITS), words('b', 5000).slice(-WINDOW_UNITS)]
    expect(bucketsOf(`${head} secret ${tail}`)).to.deep.equal(bucketsOf(`${head} other ${tail}`))
    const whole = `${head.slice(1)}w${tail}`
    expect(whole).to.have.length(2 * WINDOW_UNITS)
    expect(bucketsOf(whole)).to.have.length.above(0)
    // A character that a border divides counts as two halves.
    const divided = `${'a'.repeat(WINDOW_UNITS - 1)}😀${'b'.repeat(WINDOW_UNITS)}`
    expect(bucketsOf(divided)).to.have.length(4)
  })

  it('are the same after encoding, for any text', () => {
    const random = createRandom(7)
    const alphabet = [
      'a',
      'B',
      '7',
      ' ',
      '\n',
      '{',
      'é',
      '東',
      '\ud83d',
      '\ude00',
      'ß',
      '\u0000',
      '\uffff',
      'ﷺ',
      'İ',
    ]
    for (let round = 0; round < 60; round++) {
      const length = random.integer(random.integer(20_000) + 1)
      const text = Array.from({ length }, () => random.pick(alphabet)).join('')
      const features = extract(text, random.chance(0.5) ? text : undefined)
      const decoded = decodeFeatures(encodeFeatures(features))
      expect(decoded.numbers).to.deep.equal(features.numbers)
      expect(decoded.indices).to.deep.equal(features.indices)
      expect(features.indices).to.deep.equal(features.indices.slice().sort())
      expect(new Set(features.indices)).to.have.property('size', features.indices.length)
      expect([...features.numbers].every((number) => number >= 0 && number < 20)).to.equal(true)
    }
  })
})

describe('encoded features of a prompt', () => {
  it('have the same buckets after encoding, also the first and last ones', () => {
    const numbers = new Float32Array(NUMBER_NAMES.length)
    const buckets = [0, 31, 32, 63, 1023, 1024, 40_000, 65_535]
    for (const indices of [buckets, buckets.slice(1, -1), []]) {
      const decoded = decodeFeatures(encodeFeatures({ indices: Uint16Array.from(indices), numbers }))
      expect([...decoded.indices]).to.deep.equal(indices)
    }
  })

  it('take about a byte per word and pair', () => {
    const text = Array.from(
      { length: 700 },
      (_, n) => `word${String.fromCharCode(97 + (n % 26), 97 + (n >> 5))}`,
    )
    const features = extract(text.join(' '))
    expect(encodeFeatures(features).length).to.be.below(features.indices.length * 1.5 + 60)
  })

  it('are read from a part of a buffer', () => {
    const encoded = encodeFeatures(extract('Hello world'))
    const buffer = new Uint8Array(encoded.length + 7)
    buffer.set(encoded, 5)
    const decoded = decodeFeatures(buffer.subarray(5, 5 + encoded.length))
    expect(decoded.numbers).to.deep.equal(extract('Hello world').numbers)
  })

  it('are refused when they are damaged', () => {
    const encoded = encodeFeatures(extract('Hello world'))
    const damaged = [
      new Uint8Array(),
      encoded.subarray(0, 20),
      Uint8Array.of(9, ...encoded.subarray(1)),
      Uint8Array.of(...encoded, 200),
      Uint8Array.of(...encoded, 255, 255, 3),
      Uint8Array.of(...encoded, 255, 255, 255, 255),
      encoded.map((byte, at) => (at > 0 && at < 5 ? 255 : byte)),
    ]
    for (const bytes of damaged) expect(() => decodeFeatures(bytes)).to.throw(EncodedFeaturesError)
  })
})

describe('the keyed hash', () => {
  /** Computed with the reference implementation of HalfSipHash-1-3 in C. */
  it('is HalfSipHash-1-3', () => {
    const units = Uint16Array.from([0x01_00, 0x03_02, 0x05_04, 0x07_06, 0x09_08])
    const key = { k0: 0x03020100, k1: 0x07060504 }
    expect([0, 1, 2, 3, 5].map((length) => hashUnits(units, length, key) >>> 0)).to.deep.equal([
      1477757078, 3159035440, 2114297510, 2684881765, 3841602255,
    ])
  })
})

import { expect } from 'chai'
import fc from 'fast-check'
import { isJsonInSteps } from '../../../../core/inspection/json-text.ts'
import { inRounds } from '../../../support/property.ts'

const SOURCES = [
  '{"a":[1,-0.5e+3,true,false,null,"x\\u0041\\n\\"",{"":{}},[]],"b":"\u2028é"}',
  ' [ 0 , -1 , 2.5 , 1E5 , "\\\\" , { "a" : "b" } ] ',
  '"text"',
]

/** Characters that make or break a document. */
const CHARACTERS = [...'{}[],:"\\ \n\t0123456789-+.eEtrufalsn\u0000\u001f\u00a0']

function run(source: string): boolean {
  const steps = isJsonInSteps(source)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

function isParsed(source: string): boolean {
  try {
    JSON.parse(source)
    return true
  } catch {
    return false
  }
}

describe('checking JSON in steps', () => {
  it('accepts what JSON.parse accepts, and nothing else', () => {
    const change = fc.tuple(fc.nat(70), fc.constantFrom(...CHARACTERS), fc.nat(1))
    const source = fc
      .tuple(fc.constantFrom(...SOURCES), fc.array(change, { maxLength: 2 }))
      .map(([source, changes]) =>
        changes.reduce((text, [at, put, cut]) => text.slice(0, at) + put + text.slice(at + cut), source),
      )
    let valid = 0
    const isRight = (source: string) => {
      const expected = isParsed(source)
      if (expected) valid += 1
      expect(run(source)).to.equal(expected)
    }
    fc.assert(fc.property(source, isRight), inRounds(20_000))
    expect(valid).to.be.within(6000, 18_000)
  })

  it('accepts no empty text, and no end that nothing began', () => {
    for (const source of [
      '',
      ' ',
      ']',
      '}',
      '[}',
      '{]',
      '[1}',
      '{"a":1]',
      '[1,]',
      '{"a":1,}',
      '{"a"}',
      '1 2',
    ])
      expect(run(source), source).to.equal(false)
  })

  it('takes steps', () => {
    const steps = isJsonInSteps(JSON.stringify(Array.from({ length: 10_000 }, (_, n) => n)))
    let count = 0
    while (!steps.next().done) count += 1
    expect(count).to.be.above(30)
  })
})

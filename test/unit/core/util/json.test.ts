import { expect } from 'chai'
import { parseJson, parseJsonObject } from '../../../../core/util/json.ts'

describe('parseJson', () => {
  it('returns the parsed value', () => {
    expect(parseJson('{"a":[1,null]}')).to.deep.equal({ a: [1, null] })
    expect(parseJson('null')).to.equal(null)
  })

  it('returns undefined for invalid JSON', () => {
    for (const text of ['', '{', '{"a":1}}', 'undefined', "{'a':1}"]) {
      expect(parseJson(text), text).to.equal(undefined)
    }
  })
})

describe('parseJsonObject', () => {
  it('returns the parsed object', () => {
    expect(parseJsonObject('{"a":[1,null]}')).to.deep.equal({ a: [1, null] })
  })

  it('returns undefined for invalid JSON and for other values', () => {
    for (const text of ['', '{', 'null', '[]', '"a"', '1']) {
      expect(parseJsonObject(text), text).to.equal(undefined)
    }
  })
})

import { expect } from 'chai'
import { MAX_JSON_DEPTH, parseJson, parseJsonObject, parseUniqueJson } from '../../../../core/util/json.ts'

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

describe('parseUniqueJson', () => {
  it('returns the parsed value if no object has a name twice', () => {
    for (const text of [
      '{"a":1,"b":{"a":1}}',
      '[{"a":1},{"a":2}]',
      '{"a":"\\"b\\":","c":[":","\\\\"]}',
      '1',
      '{}',
    ])
      expect(parseUniqueJson(text), text).to.deep.equal(JSON.parse(text))
  })

  it('returns undefined for invalid JSON, and for names that are there twice', () => {
    for (const text of ['{', '{"a":1,"a":1}', '[{"b":{"a":1, "\\u0061" :2}}]', '{"":1,"":2}'])
      expect(parseUniqueJson(text), text).to.equal(undefined)
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

  it('accepts an object of the maximum depth, and refuses a deeper one, however short its text is', () => {
    expect(parseJsonObject(nested(MAX_JSON_DEPTH))).to.be.an('object')
    expect(parseJsonObject(nested(MAX_JSON_DEPTH + 1))).to.equal(undefined)
  })
})

/** The shortest text of an object with this many levels. */
function nested(levels: number): string {
  const lists = levels - 1
  return `{"":${'['.repeat(lists)}${']'.repeat(lists)}}`
}

import { expect } from 'chai'
import fc from 'fast-check'
import { findReceived, keepReceived } from '../../../../core/util/received-json.ts'
import { writeBody } from '../../../../providers/shared/write-body.ts'
import { inRounds } from '../../../support/property.ts'
import { ROUNDS } from '../../../support/rounds.ts'

type Body = Record<string, unknown>

const PADDING = 'x'.repeat(2048)

/** Parses a body as the gateway does, which keeps its bytes. */
function receive(json: string | Buffer): Body {
  const bytes = Buffer.from(json)
  const body: Body = JSON.parse(new TextDecoder().decode(bytes))
  keepReceived(body, bytes)
  return body
}

const text = fc.string({ unit: fc.constantFrom(...'ab{}[],:"\\/ \n\u0000é日🚂', '__proto__', '\\u0041') })
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, 0, -1, 1e21),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const bodies = fc.dictionary(text, value, { maxKeys: 6, noNullPrototype: true })

/** Escapes some characters and adds blanks, as other writers of JSON do. */
function writeDifferently(body: Body, indent: number, escapes: boolean): string {
  const json = JSON.stringify(body, null, indent)
  return escapes
    ? json.replace(/[\u0080-\ud7ff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : json
}

describe('the body of a request to a provider', () => {
  it('says the same as JSON that is written anew, whatever was replaced', () => {
    const changes = fc.dictionary(text, value, { maxKeys: 2, noNullPrototype: true })
    const style = fc.record({ indent: fc.constantFrom(0, 2), escapes: fc.boolean(), removed: fc.nat(5) })
    fc.assert(
      fc.property(bodies, changes, style, (given, changed, { indent, escapes, removed }) => {
        const body = receive(writeDifferently({ padding: [PADDING], ...given }, indent, escapes))
        const sent: Body = { ...body, ...changed }
        const name = Object.keys(sent)[removed]
        if (name !== undefined) sent[name] = undefined
        expect(JSON.parse(String(writeBody(sent)))).to.deep.equal(JSON.parse(JSON.stringify(sent)))
      }),
      inRounds(ROUNDS.receivedBodies),
    )
  })

  it('has the fields of a body that is changed in place', () => {
    const body = receive(`{"model":"a","messages":[ "${PADDING}" ],"top_p":1.0}`)
    body.model = 'b'
    expect(String(writeBody(body))).to.equal(`{"model":"b","messages":[ "${PADDING}" ],"top_p":1}`)
  })

  it('has the fields that nobody has changed as they came, and the others between them', () => {
    const messages = `[ {"content" : "\\u00e9 ${PADDING}" , "role":"user"} ]`
    const body = receive(`{"model":"a","messages":${messages},"tools":[{ }],"user":"u"}`)
    const sent = writeBody({ ...body, model: 'b', user: undefined, stream: true, note: '\ud800' })
    expect(String(sent)).to.equal(
      `{"model":"b","messages":${messages},"tools":[{ }],"stream":true,"note":"\ufffd"}`,
    )
  })

  for (const [what, json] of [
    ['an object with a name twice', `{"messages":[{"content":"a","content":"b"}],"p":"${PADDING}"}`],
    ['a field twice', `{"messages":["a"],"messages":["b"],"p":"${PADDING}"}`],
    ['a field twice, once with an escape', `{"messages":["a"],"m\\u0065ssages":["b"],"p":"${PADDING}"}`],
    ['half of a surrogate pair', `{"messages":["\\ud83d"],"p":"${PADDING}"}`],
    ['a byte order mark', `\ufeff{"messages":["a"],"p":"${PADDING}"}`],
    ['bytes that are not UTF-8', Buffer.from(`{"messages":["\xff"],"p":"${PADDING}"}`, 'latin1')],
    ['few bytes', '{"messages":["a"]}'],
  ] as const) {
    it(`is written anew for ${what}`, () => {
      const body = receive(json)
      expect(findReceived(body)).to.equal(undefined)
      expect(writeBody(body)).to.equal(JSON.stringify(body))
    })
  }

  for (const number of [
    ...[
      '4111111111111111000000',
      '1.00000000000000004111111111111111',
      '0.1e-7',
      '1e400',
      '1E2',
      '1.0',
      '-0',
    ],
    ...['1e+2', '9007199254740993'],
  ])
    it(`has the number ${number} as rules have seen it`, () => {
      const body = receive(`{"tools":[{"const":[ ${number}]}],"messages":[ "${PADDING}" ]}`)
      const tools = JSON.stringify(body.tools)
      expect(String(writeBody(body))).to.equal(`{"tools":${tools},"messages":[ "${PADDING}" ]}`)
    })

  it('has short integers as they came', () => {
    const numbers = '[ 0,12, 123456789012345,"1.0"]'
    const json = `{"numbers":${numbers},"p":"${PADDING}"}`
    expect(String(writeBody(receive(json)))).to.equal(json)
  })

  it('is written anew once the request has ended', () => {
    const bytes = Buffer.from(`{"messages":[ "${PADDING}" ]}`)
    const body: Body = JSON.parse(String(bytes))
    const forget = keepReceived(body, bytes)
    expect(String(writeBody(body))).to.equal(String(bytes))
    forget?.()
    expect(String(writeBody(body))).to.equal(JSON.stringify(body))
  })

  it('is not taken from a field whose name has an escape', () => {
    const json = `{"a\\\\b":["safe"],"a\\\\\\\\b":["other"],"p":"${PADDING}"}`
    const body = receive(json)
    expect(JSON.parse(String(writeBody({ ...body, p: 1 })))).to.deep.equal({
      'a\\b': ['safe'],
      'a\\\\b': ['other'],
      p: 1,
    })
  })
})

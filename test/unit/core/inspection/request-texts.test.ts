import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import type { Inspection } from '../../../../core/inspection/inspection.ts'
import { rewriteJsonText } from '../../../../core/inspection/json-text.ts'
import { mapRequest } from '../../../../core/inspection/map-request.ts'
import { REQUEST } from '../../../../core/inspection/request-inspection.ts'
import { inspectedValues, requestTexts, userTexts } from '../../../../core/inspection/request-texts.ts'
import { visitTexts } from '../../../../core/inspection/visit-texts.ts'
import { inRounds } from '../../../support/property.ts'

/** The first bytes of a PNG image. */
const BINARY = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(120)]).toString('base64')
const IMAGE = `data:image/png;base64,${BINARY}`

const conversation: ChatRequest = {
  messages: [
    { role: 'system', content: 'be kind' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look "here"' },
        { type: 'image_url', image_url: { url: IMAGE, detail: 'high' } },
        { type: 'input_audio', input_audio: { data: BINARY, format: 'wav' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"q":"a\\nb"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"n":1}' },
  ],
}

describe('the texts of a request', () => {
  it('include contents, tool arguments and tool results, but no structural fields or binary data', () => {
    expect(inspectedValues(conversation)).to.deep.equal(['be kind', 'look "here"', 'q', 'a\nb', 'n', '1'])
  })

  it('include the JSON encoding of content lists, without binary data', async () => {
    const encoding = (await requestTexts(conversation)).at(-1) ?? ''
    expect(encoding).to.contain('"text":"look \\"here\\""')
    expect(encoding).not.to.contain('base64')
    expect(encoding).not.to.contain(BINARY)
  })

  it('of the user come from user messages only', () => {
    expect(userTexts(conversation)[0]).to.equal('look "here"')
    expect(userTexts(conversation).join()).not.to.contain('be kind')
  })

  it('include JSON that is divided into parts of a tool result, and numbers in their usual form', () => {
    const content = [
      { type: 'text', text: '{"q":' },
      { type: 'text', text: '"\\u0073ecret","n":4.111e3}' },
    ]
    const request: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content }] }
    expect(requestTexts(request)).to.include('q\nsecret\nn\n4.111e3\n4111')
  })

  it('include a text file in base64, with and without a data URL', () => {
    const base64 = Buffer.from('a secret file').toString('base64')
    for (const file_data of [base64, `data:text/plain;base64,${base64}`, 'data:,a%20secret%20file']) {
      const request: ChatRequest = {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_data } }] }],
      }
      expect(inspectedValues(request), file_data).to.include('a secret file')
    }
  })

  it('include reasoning that the client sends back', () => {
    const request: ChatRequest = { messages: [{ role: 'assistant', content: 'x', reasoning_content: 'hm' }] }
    expect(inspectedValues(request)).to.deep.equal(['x', 'hm'])
  })
})

describe('visiting the texts of a request', () => {
  it('finds what rewriting them finds, in the same order, whatever the request', () => {
    const isSame = (request: ChatRequest) => {
      const visited: string[] = []
      const collect = (text: string) => {
        visited.push(text)
        return text
      }
      visitTexts(request, REQUEST, {
        visitText: collect,
        visitJson: (text) => rewriteJsonText(text, collect) ?? collect(text),
      })
      const rewritten: string[] = []
      mapRequest(request, {
        rewrite(text) {
          rewritten.push(text)
          return text
        },
      })
      expect(visited).to.deep.equal(rewritten)
    }
    fc.assert(fc.property(requests(), isSame), inRounds(1500))
  })

  it('reads long JSON documents like short ones', async () => {
    const rows = Array.from({ length: 3000 }, (_, n) => ({ [`key ${n}`]: `value ${n}`, n: n + 10_000 }))
    const content = JSON.stringify(rows)
    const request: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content }] }
    const values = await inspectedValues(request)
    expect(values).to.have.length(9001)
    expect(values).to.include.members(['key 2999', 'value 2999', 'n', '12999'])
    expect(await requestTexts(request)).to.include(content)
    const broken: ChatRequest = {
      messages: [{ role: 'tool', tool_call_id: 'c', content: content.slice(0, -1) }],
    }
    expect(await requestTexts(broken)).to.deep.equal([content.slice(0, -1)])
  })
})

/** Requests with the names and values of the table, in places where they belong and where they do not. */
function requests(): fc.Arbitrary<ChatRequest> {
  const name = fc.constantFrom(...fieldNames(REQUEST, new Set()), 'unknown', 'other')
  const scalar = fc.constantFrom(
    ...['text', 'tool', 'user', 'auto', 'ephemeral', '0.7', '12345678', '{"a":[1,"b"]}', '{"a":', IMAGE],
    ...[0, 12_345_678, 1.5, true, null, 'a'.repeat(70), Buffer.from('a text').toString('base64')],
  )
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      { arbitrary: scalar, weight: 2 },
      { arbitrary: fc.array(tie('value'), { maxLength: 2 }), weight: 1 },
      { arbitrary: fc.dictionary(name, tie('value'), { maxKeys: 5 }), weight: 1 },
    ),
  }))
  // The walk takes any value, and so does this test.
  return fc.dictionary(name, value, { minKeys: 1, maxKeys: 6 }) as unknown as fc.Arbitrary<ChatRequest>
}

function fieldNames(inspection: Inspection, seen: Set<Inspection>): readonly string[] {
  if (seen.has(inspection)) return []
  seen.add(inspection)
  return [...(inspection.fields ?? [])].flatMap(([name, field]) => [name, ...fieldNames(field, seen)])
}

describe('rewriting the texts of a request', () => {
  const toUpperCase = (text: string) => text.toUpperCase()
  const mapTexts = (request: ChatRequest, rewrite: (text: string) => string) =>
    mapRequest(request, { rewrite })

  it('returns the same object if nothing changes', () => {
    expect(mapTexts(conversation, (text) => text)).to.equal(conversation)
  })

  it('changes only texts', () => {
    const mapped = mapTexts(conversation, toUpperCase)
    expect(mapped.messages[0]).to.deep.equal({ role: 'system', content: 'BE KIND' })
    expect(mapped.messages[1]?.content).to.deep.equal([
      { type: 'text', text: 'LOOK "HERE"' },
      { type: 'image_url', image_url: { url: IMAGE, detail: 'high' } },
      { type: 'input_audio', input_audio: { data: BINARY, format: 'wav' } },
    ])
    expect(mapped.messages[2]?.tool_calls?.[0]).to.deep.include({ id: 'call_1', type: 'function' })
  })

  it('rewrites the values of a JSON document, not its escapes', () => {
    const mapped = mapTexts(conversation, (text) => text.replace('\n', '-'))
    expect(mapped.messages[2]?.tool_calls?.[0]?.function.arguments).to.equal('{"q":"a-b"}')
  })

  it('rewrites numbers and keys of a JSON document and keeps all other bytes', () => {
    const source = '{ "id": 1234567890123456789, "price":10.00,\n"123-45":"123-45" }'
    const request: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content: source }] }
    const mapped = mapTexts(request, (text) => text.replace(/^10\.00$|123-45/, 'x'))
    expect(mapped.messages[0]?.content).to.equal('{ "id": 1234567890123456789, "price":"x",\n"x":"x" }')
  })

  it('does not change its input', () => {
    const before = JSON.stringify(conversation)
    mapTexts(conversation, toUpperCase)
    expect(JSON.stringify(conversation)).to.equal(before)
  })
})

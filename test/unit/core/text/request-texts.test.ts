import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { compileLiterals, compilePatternSet } from '../../../../core/text/pattern-set.ts'
import { searchInRegexWorker } from '../../../../core/text/regex-worker-client.ts'
import {
  mapRequestTexts,
  requestTexts,
  stringValues,
  userTexts,
} from '../../../../core/text/request-texts.ts'

const IMAGE = 'data:image/png;base64,AAAA'

const conversation: ChatRequest = {
  messages: [
    { role: 'system', content: 'be kind' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look "here"' },
        { type: 'image_url', image_url: { url: IMAGE, detail: 'high' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg', format: 'wav' } },
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
    expect(stringValues(conversation)).to.deep.equal([
      'be kind',
      'look "here"',
      'a\nb',
      '{"q":"a\\nb"}',
      '{"n":1}',
    ])
  })

  it('include the JSON encoding of content lists, without binary data', () => {
    const encoding = requestTexts(conversation).at(-1) ?? ''
    expect(encoding).to.contain('"text":"look \\"here\\""')
    expect(encoding).not.to.contain('base64')
    expect(encoding).not.to.contain('UklGRg')
  })

  it('of the user come from user messages only', () => {
    expect(userTexts(conversation)[0]).to.equal('look "here"')
    expect(userTexts(conversation).join()).not.to.contain('be kind')
  })

  it('include reasoning that the client sends back', () => {
    const request: ChatRequest = { messages: [{ role: 'assistant', content: 'x', reasoning_content: 'hm' }] }
    expect(stringValues(request)).to.deep.equal(['x', 'hm'])
  })
})

describe('rewriting the texts of a request', () => {
  const toUpperCase = (text: string) => text.toUpperCase()

  it('returns the same object if nothing changes', () => {
    expect(mapRequestTexts(conversation, (text) => text)).to.equal(conversation)
  })

  it('changes only texts', () => {
    const mapped = mapRequestTexts(conversation, toUpperCase)
    expect(mapped.messages[0]).to.deep.equal({ role: 'system', content: 'BE KIND' })
    expect(mapped.messages[1]?.content).to.deep.equal([
      { type: 'text', text: 'LOOK "HERE"' },
      { type: 'image_url', image_url: { url: IMAGE, detail: 'high' } },
      { type: 'input_audio', input_audio: { data: 'UklGRg', format: 'wav' } },
    ])
    expect(mapped.messages[2]?.tool_calls?.[0]).to.deep.include({ id: 'call_1', type: 'function' })
  })

  it('rewrites the values of a JSON document, not its escapes', () => {
    const mapped = mapRequestTexts(conversation, (text) => text.replace('\n', '-'))
    expect(mapped.messages[2]?.tool_calls?.[0]?.function.arguments).to.equal('{"q":"a-b"}')
  })

  it('rewrites a JSON document as plain text if none of its values changes', () => {
    const mapped = mapRequestTexts(conversation, (text) => text.replace('"n":1', '"n":0'))
    expect(mapped.messages[3]?.content).to.equal('{"n":0}')
  })

  it('does not change its input', () => {
    const before = JSON.stringify(conversation)
    mapRequestTexts(conversation, toUpperCase)
    expect(JSON.stringify(conversation)).to.equal(before)
  })
})

describe('literals', () => {
  it('match in any case, by Unicode simple case folding', () => {
    for (const [literal, text] of [
      ['straße', 'STRAẞE'],
      ['σας', 'ΣΑΣ'],
      ['kelvin', '\u212Aelvin'],
      ['Привет', 'пРИВЕТ'],
    ] as const) {
      expect(compileLiterals([literal]).test(text), literal).to.equal(true)
    }
  })

  it('match special characters literally', () => {
    expect(compileLiterals(['a.b*[c](d)|e\\/-^$']).test('x A.B*[C](D)|E\\/-^$ y')).to.equal(true)
    expect(compileLiterals(['a.b']).test('axb')).to.equal(false)
  })
})

describe('a set of patterns', () => {
  it('finds the indexes of the patterns that match any of the texts', async () => {
    const set = await compilePatternSet(['one', 'two', 't[a-z]o', 'four'])
    expect([...((await set.find(['two', 'one'])) ?? [])].sort()).to.deep.equal([0, 1, 2])
  })

  it('searches several automata', async () => {
    const set = await compilePatternSet(Array.from({ length: 3000 }, (_, n) => `word${n}x`))
    expect([...((await set.find(['word5x word2999x'])) ?? [])]).to.deep.equal([5, 2999])
  })

  it('returns undefined if the automaton cannot be built', async () => {
    const set = await compilePatternSet(['fine', '(broken'])
    expect(await set.find(['fine'])).to.equal(undefined)
  })

  it('finds the same in the regex worker', async () => {
    const sources = ['one', 'two']
    expect(await searchInRegexWorker(sources, ['two'])).to.deep.equal([1])
    expect(await searchInRegexWorker(sources, ['three'])).to.deep.equal([])
    expect(await searchInRegexWorker(['(broken'], ['x'])).to.equal(undefined)
  })
})

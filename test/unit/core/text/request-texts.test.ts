import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { mapRequest } from '../../../../core/text/map-request.ts'
import { compileLiterals, compilePatternSet } from '../../../../core/text/pattern-set.ts'
import { searchInRegexWorker } from '../../../../core/text/regex-worker-client.ts'
import { inspectedValues, requestTexts, userTexts } from '../../../../core/text/request-texts.ts'

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

  it('include the JSON encoding of content lists, without binary data', () => {
    const encoding = requestTexts(conversation).at(-1) ?? ''
    expect(encoding).to.contain('"text":"look \\"here\\""')
    expect(encoding).not.to.contain('base64')
    expect(encoding).not.to.contain(BINARY)
  })

  it('of the user come from user messages only', () => {
    expect(userTexts(conversation)[0]).to.equal('look "here"')
    expect(userTexts(conversation).join()).not.to.contain('be kind')
  })

  it('include reasoning that the client sends back', () => {
    const request: ChatRequest = { messages: [{ role: 'assistant', content: 'x', reasoning_content: 'hm' }] }
    expect(inspectedValues(request)).to.deep.equal(['x', 'hm'])
  })
})

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

  it('searches a long text for a thousand patterns without blocking the event loop', async () => {
    const set = await compilePatternSet(Array.from({ length: 1000 }, (_, n) => `foo${n}.*bar`))
    const text = Array.from({ length: 6000 }, (_, n) => `foo${n % 1000} lorem ipsum`).join(' ')
    let longest = 0
    let last = performance.now()
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    expect((await set.find([text]))?.length).to.equal(0)
    clearInterval(timer)
    expect(longest).to.be.below(100)
  })
})

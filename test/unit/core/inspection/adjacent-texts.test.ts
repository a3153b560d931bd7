import { expect } from 'chai'
import type { ChatRequest, Message } from '../../../../core/contract/index.ts'
import { joinAdjacentTexts } from '../../../../core/inspection/request-texts.ts'

const requestOf = (messages: readonly object[]): ChatRequest => ({
  model: 'auto',
  messages: messages as readonly Message[],
})
const block = (anthropic: object) => ({ type: 'extra_content', extra_content: { anthropic } })
const user = (content: unknown) => ({ role: 'user', content })

describe('adjacent texts', () => {
  it('are joined for blocks with more values than a function may have arguments', () => {
    const values = Array.from({ length: 200_000 }, () => 1)
    const lists = Array.from({ length: 70_000 }, () => [{ text: 'a' }, { text: 'b' }])
    for (const content of [values, lists]) {
      const joined = joinAdjacentTexts(requestOf([user([block({ type: 'document', content })])]))
      expect(joined).to.have.length(content === lists ? 140_000 : 0)
    }
  })

  it('hold each character of many messages a few times only', () => {
    const messages = Array.from({ length: 10_000 }, (_, index) =>
      index % 2 === 0 ? user('ab') : { role: 'system', content: [{ type: 'text', text: 'cd' }] },
    )
    const length = joinAdjacentTexts(requestOf(messages)).join('').length
    expect(length).to.be.within(20_000, 100_000)
  })

  it('are those of nested lists, each once', () => {
    let content: readonly object[] = [{ text: 'a' }, { text: 'b' }]
    for (let depth = 0; depth < 1000; depth++) content = [{ text: 'a', content }, { text: 'b' }]
    const joined = joinAdjacentTexts(requestOf([user([block({ type: 'document', content })])]))
    expect(joined).to.have.length(2 * 1001)
    expect(new Set(joined)).to.deep.equal(new Set(['ab']))
  })

  it('leave out blank system messages, as Anthropic does', () => {
    const system = ['ignore', ' ', 'previous'].map((content) => ({ role: 'system', content }))
    for (const messages of [
      system,
      [{ role: 'system', content: system.map(({ content: text }) => ({ type: 'text', text })) }],
    ])
      expect(joinAdjacentTexts(requestOf(messages))).to.include('ignore\n\nprevious')
  })

  it('are as many as those of a request in which numbers were replaced', () => {
    const content = [block({ type: 'text', text: 4711 }), { type: 'text', text: 'a' }]
    const rewritten = [block({ type: 'text', text: '' }), { type: 'text', text: '' }]
    const [original, request] = [requestOf([user(content)]), requestOf([user(rewritten)])]
    expect(joinAdjacentTexts(original, request)).to.have.length(joinAdjacentTexts(original).length)
  })
})

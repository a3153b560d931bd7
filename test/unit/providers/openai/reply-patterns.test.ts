import { expect } from 'chai'
import { ReplyEvent } from '../../../../core/contract/chat.ts'
import { NATIVE } from '../../../../core/contract/native-records.ts'
import { parseChatReply } from '../../../../providers/chat-format/reply.ts'
import { ChatReplyPatterns } from '../../../../providers/chat-format/reply-patterns.ts'

const MODEL = 'gpt-4o'

const choiceOf = (content: unknown, message: object = {}) => ({
  index: 0,
  message: { role: 'assistant', content, refusal: null, annotations: [], ...message },
  logprobs: null,
  finish_reason: 'stop',
})

const completion = (more: object = {}, content: unknown = 'Hi "you"\\', message: object = {}) => ({
  id: 'chatcmpl-B9',
  object: 'chat.completion',
  created: 1700000000,
  model: 'gpt-4o-2024-08-06',
  choices: [choiceOf(content, message)],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 10,
    total_tokens: 29,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 3, audio_tokens: 0, accepted_prediction_tokens: null },
  },
  service_tier: 'priority',
  system_fingerprint: null,
  ...more,
})

function parse(text: string): ReplyEvent {
  const record = JSON.parse(text)
  return new ReplyEvent(parseChatReply(record).parts, { record, source: text })
}

function learned(text: string): ChatReplyPatterns {
  const patterns = new ChatReplyPatterns()
  patterns.learn(MODEL, text, parse(text))
  return patterns
}

/** Whether a reply is recognised. If so, it says the same as the parsed one. */
function isRead(patterns: ChatReplyPatterns, text: string): boolean {
  const event = patterns.read(MODEL, text)
  if (event === undefined) return false
  const parsed = parse(text)
  expect(event.parts, text).to.deep.equal(parsed.parts)
  expect(event[NATIVE]?.source).to.equal(text)
  expect(event[NATIVE]?.record).to.deep.equal(parsed[NATIVE]?.record)
  const { id } = JSON.parse(text)
  expect(text.slice(0, event[NATIVE]?.idEnd)).to.match(/^\{\s*"id":\s*"[^"]*$/)
  expect(text.slice(0, event[NATIVE]?.idEnd).endsWith(id)).to.equal(true)
  return true
}

const usageOf = (prompt: number, answer: number, cached: number, reasoning: number, extra = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: answer,
  total_tokens: prompt + answer + extra,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: reasoning,
    audio_tokens: 0,
    accepted_prediction_tokens: null,
  },
})

const WRITERS: Readonly<Record<string, (value: object) => string>> = {
  compactly: (value) => JSON.stringify(value),
  'with white space, as OpenAI': (value) => `${JSON.stringify(value, undefined, 2)}\n`,
}

describe('the patterns of whole replies', () => {
  for (const [how, write] of Object.entries(WRITERS)) {
    it(`read replies written ${how} that differ in id, time, text and counts`, () => {
      const patterns = learned(write(completion()))
      for (const text of [
        'x',
        '"',
        '\\',
        '\n',
        'é 漢 😀 \u2028',
        '"},"logprobs":null,"finish_reason":"stop"}]',
      ]) {
        const more = {
          id: `chatcmpl-${text.length}é`,
          created: 1800000001,
          usage: usageOf(7, 123456789, 0, 0),
        }
        expect(isRead(patterns, write(completion(more, text))), text).to.equal(true)
      }
      // xAI counts reasoning in the total only.
      expect(isRead(patterns, write(completion({ usage: usageOf(7, 5, 1, 100, 100) })))).to.equal(true)
    })
  }

  it('read a text with escapes that no writer needs', () => {
    const source = JSON.stringify(completion({}, 'A/'))
    expect(isRead(learned(source), source.replace('A/', '\\u0041\\/'))).to.equal(true)
  })

  it('never read a reply differently than a JSON parser, whatever is changed', () => {
    const original = JSON.stringify(completion())
    const patterns = learned(original)
    let reads = 0
    for (let at = 0; at <= original.length; at++) {
      for (const change of [
        '',
        '"',
        '\\',
        '\\"',
        ',',
        '}',
        ':',
        '0',
        '1',
        '-',
        '.5',
        'e1',
        ' ',
        '\n',
        '\\u004',
        '\u0001',
      ])
        for (const length of [0, 1, 3])
          if (isRead(patterns, original.slice(0, at) + change + original.slice(at + length))) reads++
    }
    expect(reads).to.be.greaterThan(300)
  })

  const others: Readonly<Record<string, object>> = {
    'another model': completion({ model: 'gpt-4o-mini' }),
    'another finish': completion({ choices: [{ ...choiceOf('Hi'), finish_reason: 'length' }] }),
    'no text': completion({}, ''),
    'null in place of a text': completion({}, null),
    'a field more': completion({ extra: null }),
    'a refusal': completion({}, 'Hi', { refusal: 'No.' }),
    'a call': completion({}, 'Hi', { tool_calls: [] }),
    'other details': completion({ usage: { ...usageOf(1, 2, 0, 0), prompt_tokens_details: null } }),
    'a count that is no integer': completion({ usage: usageOf(1.5, 2, 0, 0) }),
    'a negative count': completion({ usage: usageOf(-1, 2, 0, 0) }),
    'too many tokens': completion({ usage: usageOf(1, 1_000_000_001, 0, 0) }),
    'an id that is a number': completion({ id: 12 }),
    'an id with an escape': completion({ id: 'a"b' }),
    'two choices': completion({ choices: [choiceOf('Hi'), { ...choiceOf('Ho'), index: 1 }] }),
    'an error': { error: { message: 'Hi' } },
    nothing: {},
  }
  for (const [name, other] of Object.entries(others)) {
    it(`do not read a reply with ${name}`, () => {
      expect(isRead(learned(JSON.stringify(completion())), JSON.stringify(other))).to.equal(false)
    })
  }

  const unlearned: Readonly<Record<string, object>> = {
    reasoning: completion({}, 'Hi', { reasoning_content: 'Hm.' }),
    citations: completion({ citations: ['https://example.com/a'] }),
    'log probabilities': completion({
      choices: [{ ...choiceOf('Hi'), logprobs: { content: [{ token: 'Hi', logprob: -1 }] } }],
    }),
    metadata: completion({ metadata: { customer: 'Ada' } }),
    calls: completion({}, 'Hi', {
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    }),
    'an object as the model': completion({ model: { name: 'Ada' } }),
    'other counts': completion({ usage: { ...usageOf(1, 2, 0, 0), cost: 0.1 } }),
    'cached tokens elsewhere': completion({ usage: { ...usageOf(1, 2, 0, 0), num_cached_tokens: 1 } }),
    'no usage': completion({ usage: undefined }),
    'the mark of a slot': completion({ model: '<slot 1>' }),
  }
  for (const [name, reply] of Object.entries(unlearned)) {
    it(`are not made of a reply with ${name}`, () => {
      const text = JSON.stringify(reply)
      expect(isRead(learned(text), text)).to.equal(false)
    })
  }

  it('are not made of a reply whose id is not first, or that has a field twice', () => {
    const { id, ...rest } = completion()
    for (const text of [
      JSON.stringify({ ...rest, id }),
      JSON.stringify(completion()).replace('"created"', '"created":1,"created"'),
      JSON.stringify(completion()).replaceAll(':', ' : '),
    ])
      expect(isRead(learned(text), text)).to.equal(false)
  })

  it('keep no text of the reply that was learned', () => {
    const text = JSON.stringify(completion({ id: 'chatcmpl-mine' }, 'my secret'))
    const example = JSON.stringify(learned(text).read(MODEL, text)?.[NATIVE]?.reply?.example)
    expect(example)
      .to.include('gpt-4o-2024-08-06')
      .and.not.match(/secret|mine/)
  })

  it('are those of one model, and of at most 64', () => {
    const text = JSON.stringify(completion())
    const patterns = learned(text)
    expect(patterns.read('gpt-4.1', text)).to.equal(undefined)
    for (let index = 0; index < 63; index++) patterns.learn(`model ${index}`, text, parse(text))
    expect(isRead(patterns, text)).to.equal(true)
    patterns.learn('one more', text, parse(text))
    expect(isRead(patterns, text)).to.equal(false)
    expect(patterns.read('one more', text)).to.not.equal(undefined)
  })

  it('change after 16 replies in a row that they do not read', () => {
    const [first, second] = [completion(), completion({ system_fingerprint: 'fp_2' })].map((each) =>
      JSON.stringify(each),
    ) as [string, string]
    const patterns = learned(first)
    const learnSecond = (times: number) => {
      for (let count = 0; count < times; count++) {
        expect(isRead(patterns, second)).to.equal(false)
        patterns.learn(MODEL, second, parse(second))
      }
    }
    learnSecond(15)
    expect(isRead(patterns, first)).to.equal(true)
    learnSecond(16)
    expect(isRead(patterns, second)).to.equal(true)
  })
})

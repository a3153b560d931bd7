import { createRandom, type Random } from '../support/random.ts'
import { adminHeaders } from './gateway.ts'

const SYLLABLES = 'ka lo mi ten sur par dro vel ni qua res tim ber oft gen hal ist mon'.split(' ')

/** Words of one to four syllables, few of them frequent and most of them rare, as in a language. */
function createVocabulary(random: Random): () => string {
  const words = Array.from({ length: 5000 }, () =>
    Array.from({ length: 1 + random.integer(4) }, () => random.pick(SYLLABLES)).join(''),
  )
  return () => words[Math.floor(words.length ** (random.integer(1_000_000) / 1_000_000)) - 1] ?? ''
}

/** Returns prompts of about so many characters. */
export function writeVariedPrompts(count: number, characters: number): readonly string[] {
  const random = createRandom(1)
  const nextWord = createVocabulary(random)
  return Array.from({ length: count }, () => {
    let prompt = nextWord()
    while (prompt.length < characters) prompt += ` ${nextWord()}`
    return prompt
  })
}

/** The first one is as good for all prompts. */
const RATED = { 'gpt-4o': 1, 'claude-opus-5': 0.3, 'gpt-4o-mini': 0.3, 'mistral-large-2512': 0.3 }

/** Imports ratings of four models. */
export async function importRatings(url: string): Promise<void> {
  const random = createRandom(2)
  const lines = writeVariedPrompts(400, 200).flatMap((prompt) =>
    Object.entries(RATED).map(([model, share]) => {
      return JSON.stringify({ prompt, model, score: random.chance(share) ? 1 : 0 })
    }),
  )
  const response = await fetch(url, { method: 'POST', headers: adminHeaders, body: lines.join('\n') })
  const text = await response.text()
  if (!response.ok || !text.includes('"rejected":0')) throw new Error(`${url}: ${text.slice(0, 300)}`)
}

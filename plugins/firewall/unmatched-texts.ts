import { LRUCache } from 'lru-cache'

/** Fewer texts are searched faster than they are looked up. */
const MIN_TEXTS = 16

const MAX_TEXT_LENGTH = 1000

/** Characters that one firewall remembers, in each of two generations. */
const MAX_CHARACTERS = 32_000

/** The firewalls that remember texts, so that all together hold at most 16 million characters. */
const remembering = new LRUCache<UnmatchedTexts, true>({
  max: 250,
  dispose: (_, texts) => texts.clear(),
})

/**
 * Remembers texts that no rule of a firewall matches. Tools and the earlier messages of a conversation come
 * with every request, so most texts of a long request have been searched before. Holds the texts themselves:
 * a hash could be forged.
 */
export class UnmatchedTexts {
  private recent = new Set<string>()
  private older = new Set<string>()
  private characters = 0

  get isEmpty(): boolean {
    return this.recent.size === 0 && this.older.size === 0
  }

  readonly has = (text: string): boolean => {
    if (this.isEmpty) return false
    return this.recent.has(text) || this.older.has(text)
  }

  add(texts: readonly string[]): void {
    if (texts.length < MIN_TEXTS) return
    remembering.set(this, true)
    let added = 0
    for (const text of texts) {
      if (text.length > MAX_TEXT_LENGTH) continue
      // The first ones come again. Hashing tens of thousands would hold up others.
      if (added > MAX_CHARACTERS) return
      this.recent.add(text)
      added += text.length
      this.characters += text.length
      if (this.characters > MAX_CHARACTERS) this.startGeneration()
    }
  }

  private startGeneration(): void {
    this.older = this.recent
    this.recent = new Set()
    this.characters = 0
  }

  clear(): void {
    this.startGeneration()
    this.older = new Set()
  }
}

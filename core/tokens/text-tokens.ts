/**
 * Tokens of texts in o200k, by script. Not a typed array: one of this size has memory outside of the heap,
 * which is expensive for short texts.
 */
export type ScriptTokens = readonly number[]

/**
 * Estimates the tokens of texts without a vocabulary: within 15 percent of o200k, the tokenizer of OpenAI's
 * models, for prose and code. See docs/decisions/cost.md, "Tokens are estimated from pairs of letters".
 */
export function estimateScriptTokens(texts: readonly string[]): ScriptTokens {
  const counts: number[] = [...NO_TOKENS]
  let length = 0
  for (const text of texts) length += text.length
  if (length > MAX_CHARACTERS) addSamples(texts, length, counts)
  else for (const text of texts) addCounts(text, 0, text.length, 1, counts)
  return counts
}

/** Tokens of another tokenizer, by measured ratios. */
export function tokensOfScripts(counts: ScriptTokens, tokenizer: Tokenizer): number {
  const ratios: readonly number[] = TOKENIZERS[tokenizer]
  let tokens = 0
  for (let script = 0; script < counts.length; script++)
    tokens += (counts[script] as number) * (ratios[script] ?? 1)
  return tokens
}

export function estimateTextTokens(text: string, tokenizer: Tokenizer = 'o200k'): number {
  return Math.ceil(tokensOfScripts(estimateScriptTokens([text]), tokenizer))
}

/**
 * Longer requests are estimated from samples, one of each part of the same length, so that no length takes
 * longer than a few microseconds. That adds an error of 3 percent for documents and code.
 */
const MAX_CHARACTERS = 4096
const SAMPLE_CHARACTERS = 128

/**
 * Where the sample of each part is. Every process has places of its own: a text could be made to have few
 * tokens where they are.
 */
const SHIFTS = Float64Array.from({ length: MAX_CHARACTERS / SAMPLE_CHARACTERS }, Math.random)

function addSamples(texts: readonly string[], length: number, counts: number[]): void {
  const distance = (length * SAMPLE_CHARACTERS) / MAX_CHARACTERS
  const weight = distance / SAMPLE_CHARACTERS
  const startOf = (index: number) => index * distance + (SHIFTS[index] ?? 0) * (distance - SAMPLE_CHARACTERS)
  let index = 0
  let sample = startOf(0)
  /** The position of a text in all texts. */
  let offset = 0
  for (const text of texts) {
    const { length } = text
    while (sample < offset + length) {
      const start = Math.floor(sample) - offset
      const to = Math.min(length, start + SAMPLE_CHARACTERS)
      addCounts(text, Math.max(0, start), to, weight, counts)
      // The rest of the sample is in the next text.
      if (to === length) break
      sample = startOf(++index)
    }
    offset += length
  }
}

const SCRIPTS = [
  ...(['latin', 'accented', 'cyrillic', 'greek', 'hebrew', 'arabic', 'indic', 'thai', 'han'] as const),
  ...(['kana', 'hangul', 'other', 'rare'] as const),
]

const NO_TOKENS: ScriptTokens = SCRIPTS.map(() => 0)

/**
 * Tokens of other tokenizers per token of o200k, by script. Measured on the Universal Declaration of Human
 * Rights in 32 languages and 18 sources of code: Gemini with the vocabulary of Gemma 3, DeepSeek with that of
 * V3, Mistral with that of Nemo. Anthropic publishes no vocabulary of its present models: that of Claude 2,
 * and ten percent more, which ai-tokenizer 1.0 found by comparison with replies.
 */
const TOKENIZERS = {
  o200k: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  claude: [1.2, 1.5, 2.1, 3.2, 2.4, 3, 3.8, 4.3, 1.5, 1.4, 2, 1.5],
  gemini: [1.1, 1, 0.97, 1.03, 1.2, 1, 0.85, 0.81, 0.86, 0.7, 0.98, 1],
  mistral: [1.06, 1.05, 1.07, 1.07, 1.1, 0.95, 1.16, 1.2, 1.12, 0.9, 0.89, 1.1],
  deepseek: [1.05, 1.15, 1.1, 1.27, 1.18, 1.2, 1.6, 0.86, 0.72, 0.76, 1.1, 1.1],
} as const

export type Tokenizer = keyof typeof TOKENIZERS

/** By the name of the model, so that it holds for every provider that serves the model. Default: o200k. */
export function tokenizerOf(model: string): Tokenizer {
  return (
    (NAMES.exec(model)?.[0].toLowerCase() as Tokenizer | undefined) ??
    (MISTRAL.test(model) ? 'mistral' : 'o200k')
  )
}

const NAMES = /claude|gemini|deepseek/i
const MISTRAL = /mistral|mixtral|ministral|magistral|codestral|devstral|pixtral/i

/** How o200k splits words of a script other than Latin: tokens of a word, and of each of its characters. */
const SCRIPT_COSTS = {
  cyrillic: [0.15, 0.23],
  greek: [0.4, 0.32],
  hebrew: [0, 0.45],
  arabic: [0.46, 0.25],
  indic: [0, 0.38],
  thai: [0, 0.42],
  han: [0, 0.78],
  kana: [0, 0.85],
  hangul: [1.1, 0.35],
  other: [0, 1],
  rare: [0, 3],
} as const

/**
 * Twentieths of a token, in base 36, for each letter (row) and the one that follows it (column): 0 is the
 * edge of a word, 1 to 26 are a to z, 27 are letters of Western Europe with accents, 28 all other ones.
 */
const LETTER_PAIRS = [
  '4522054532c143885g621761ea8j08a011h401381001e160400270370jb8efj4jj960j0cj5jj3294jjj5jj0',
  '96h0j1dj00b03hj3bj0b05jjj949003hdd3j8a10d20d1fj86e3fji86g14381056a85b55229a021615006716',
  '60dge604c0jja671ij5910jjh6jf7198f32a807j07i73jj5494bjjfch57bjjj3jjd8j07c30jj6g37jfjgde0',
  'c67235a37e03432023651j1f1j187c8jj53jj54h0jc01jjj4j0jjjjde0bc1ji9j106jdfjbd9jhfe6j8jjjj0',
  '243i525020fa67c160756255j0if0830jj0jjj4jjaej44jj3j6jjjjjh034f0258204d475847jb006bhje9c8',
  '3j093607f95280000g21405000daa74j3g2gj14jj00945h06840j7hj6ajjjjjjjjjjjjjjjjjjjjj0jjjjj44',
  '4417521585j2b1013b7037c9j0aa00bj3g24g06jbdj801ej033h0jeih038jbj5ae01j07bi50j4487j7540b3',
  'a301a083h0j4502i3j0239b73h9jjj9j9j0jjj3jjgjh3jj5jjddjjjje684jjj1jj23jjjj00jj48jbjejeb34',
  'daj1j0jje0jjjjjd4jjj3jjj3fj0j02f6jdjajaijf2009j867g9dj4jj0dah7h2jjjbjhega5djjga2jaj4iea',
  '00100405200360004d66309400b9jjafcb9jihjjbagdj94hig9ja4b7jd',
].join('')

/** The number of letters in `LETTER_PAIRS`, with the edge of a word. */
const ROW = 29

/**
 * Kinds of characters: 1 to 26 are small letters, 27 and 28 those with accents, and 33 to 58 are capitals. 0
 * is the edge of a word.
 */
const ACCENTED = 27
const CAPITAL = 32
const DIGIT = 59
const SPACE = 60
const LINE_BREAK = 61
const PUNCTUATION = 62
const OTHER_SCRIPT = 63

/** The kind of each of the first characters of Unicode. */
const KINDS = Uint8Array.from({ length: 0x250 }, (_, code) => kindOfCharacter(String.fromCharCode(code)))
const ASCII = 0x80

function kindOfCharacter(character: string): number {
  const code = character.charCodeAt(0)
  if (/[a-z]/.test(character)) return code - 96
  if (/[A-Z]/.test(character)) return code - 64 + CAPITAL
  if (/\p{L}/u.test(character)) return character <= 'ÿ' ? ACCENTED : ACCENTED + 1
  if (/\d/.test(character)) return DIGIT
  if (/[\r\n]/.test(character)) return LINE_BREAK
  return /\s/.test(character) ? SPACE : PUNCTUATION
}

/** By pairs of kinds: what `readWords` adds for the second one, in tokens; negative where it ends. */
const PAIR_COSTS = Float32Array.from({ length: 64 * 64 }, (_, pair) => {
  const [first, second] = [pair >> 6, pair & 63]
  if (first !== 0 && second !== 0 && !isWithinWords(first, second)) return -1
  const row = first >= DIGIT ? 0 : first % CAPITAL
  const column = second >= DIGIT ? 0 : second % CAPITAL
  return row + column === 0 ? 0 : Number.parseInt(LETTER_PAIRS[row * ROW + column] ?? '', 36) / 20
})

/** Whether one may follow the other in words with single spaces and marks. */
function isWithinWords(first: number, second: number): boolean {
  if (second === SPACE) return first < DIGIT || first === PUNCTUATION
  if (second >= DIGIT) return first < DIGIT && second === PUNCTUATION
  // A capital begins a word after a small letter.
  if (first < DIGIT) return first > CAPITAL || second < CAPITAL
  return first === SPACE || first === PUNCTUATION
}

/** The index in `SCRIPTS` for each 64 characters of Unicode. */
const BLOCKS = new Uint8Array(1024).fill(SCRIPTS.indexOf('other'))

for (const [script, ...ranges] of [
  ['accented', [0x0, 0x24f], [0x300, 0x33f], [0x1e00, 0x1eff]],
  ['greek', [0x370, 0x3ff], [0x1f00, 0x1fff]],
  ['cyrillic', [0x400, 0x52f]],
  ['hebrew', [0x580, 0x5ff]],
  ['arabic', [0x600, 0x77f]],
  ['indic', [0x900, 0xdff]],
  ['thai', [0xe00, 0xeff]],
  ['kana', [0x3040, 0x30ff]],
  ['han', [0x3000, 0x303f], [0x4dc0, 0x9fff], [0xff00, 0xff3f]],
  ['hangul', [0xac00, 0xd7af]],
  // Forms of Arabic letters, rare Han, and characters without a meaning: tokens of single bytes.
  ['rare', [0xfb40, 0xfdff], [0x3400, 0x4dbf], [0xe000, 0xf8ff]],
] as const)
  for (const [first, last] of ranges) BLOCKS.fill(SCRIPTS.indexOf(script), first >> 6, (last >> 6) + 1)

const WORD_COSTS = Float32Array.from(SCRIPTS, (script) => (script in SCRIPT_COSTS ? costsOf(script)[0] : 0))
const CHARACTER_COSTS = Float32Array.from(SCRIPTS, (script) =>
  script in SCRIPT_COSTS ? costsOf(script)[1] : 0.5,
)

function costsOf(script: string) {
  return SCRIPT_COSTS[script as keyof typeof SCRIPT_COSTS]
}

/** White space that is longer than this has a token for each few characters. */
const LONG_SPACE = 80
const SPACE_CHARACTERS = 3

const ACCENTED_SCRIPT = SCRIPTS.indexOf('accented')

function kindOf(code: number): number {
  if (code < KINDS.length) return KINDS[code] as number
  return code >= 0x2010 && code < 0x2070 ? PUNCTUATION : OTHER_SCRIPT
}

/**
 * The UTF-16 of the part that is counted, with the characters around it: those of a string take longer to
 * read.
 */
const CODES = new Uint16Array(MAX_CHARACTERS + 2)
const CODE_BYTES = Buffer.from(CODES.buffer)
/** Below this length, a call of the encoder takes longer. */
const SHORT = 24

/**
 * Adds the tokens of a part of a text by script. `weight`: how many such parts the part stands for.
 */
function addCounts(text: string, from: number, to: number, weight: number, counts: number[]): void {
  const first = Math.max(0, from - 1)
  const part = text.slice(first, to + 1)
  if (part.length > SHORT) CODE_BYTES.write(part, 'utf16le')
  else for (let index = 0; index < part.length; index++) CODES[index] = part.charCodeAt(index)
  CODES[part.length] = 0xffff
  addCodes(from - first, to - first, weight, counts)
}

/**
 * Splits the text as o200k does: words take the space or the mark before them, marks take the space before
 * and the line breaks after them, three digits are a token.
 */
function addCodes(from: number, to: number, weight: number, counts: number[]): void {
  let latin = 0
  let accented = 0
  let index = from
  while (index < to) {
    const start = index
    const code = CODES[index] as number
    const kind = kindOf(code)
    if (kind < DIGIT) {
      if (code < ASCII) {
        index = readWords(index, to)
        let before = 0
        for (let word = 0; (ENDS[word] as number) >= 0; word++) {
          const cost = (ENDS[word] as number) - before
          before += cost
          // At least 1, without a branch.
          latin += (1 + cost + Math.abs(1 - cost)) / 2
        }
        if (index > start) continue
      }
      let cost = PAIR_COSTS[kind] as number
      let hasAccent = isAccented(kind)
      let previous = kind
      for (index++; index < to; index++) {
        const nextKind = kindOf(CODES[index] as number)
        const pair = PAIR_COSTS[previous * 64 + nextKind] as number
        if (nextKind >= DIGIT || pair < 0) break
        if (isAccented(nextKind)) hasAccent = true
        cost += pair
        previous = nextKind
      }
      cost = Math.max(1, cost + (PAIR_COSTS[previous * 64] as number))
      if (hasAccent) accented += cost
      else latin += cost
    } else if (kind === OTHER_SCRIPT) {
      const script = BLOCKS[code >> 6] as number
      for (index++; index < to; index++) {
        const next = CODES[index] as number
        if (next < KINDS.length || BLOCKS[next >> 6] !== script || kindOf(next) !== OTHER_SCRIPT) break
      }
      const cost = (WORD_COSTS[script] as number) + (index - start) * (CHARACTER_COSTS[script] as number)
      counts[script] = (counts[script] as number) + cost * weight
    } else if (kind === DIGIT) {
      index = endOf(DIGIT, index, to)
      latin += Math.ceil((index - start) / 3)
    } else if (kind === PUNCTUATION) {
      index = endOf(PUNCTUATION, index, to)
      const marks = index - start
      const isAfterSpace = start > 0 && CODES[start - 1] === 32
      const isPartOfWord = marks === 1 && !isAfterSpace && kindOf(CODES[index] as number) < DIGIT
      if (!isPartOfWord) latin += 1 + 0.45 * Math.max(0, marks - 2)
      index = endOf(LINE_BREAK, index, to)
    } else {
      let spaces = 0
      let hasLineBreak = false
      for (; index < to; index++) {
        const next = kindOf(CODES[index] as number)
        if (next === LINE_BREAK) {
          hasLineBreak = true
          spaces = 0
        } else if (next === SPACE) spaces++
        else break
      }
      const isBeforeDigit = kindOf(CODES[index] as number) === DIGIT
      latin += (hasLineBreak ? 1 : 0) + (spaces > 1 ? 1 : 0) + (spaces > 0 && isBeforeDigit ? 1 : 0)
      // Longer than an indentation or a rule of spaces, which are one token.
      latin += Math.max(0, index - start - LONG_SPACE) / SPACE_CHARACTERS
    }
  }
  counts[0] = (counts[0] as number) + latin * weight
  counts[ACCENTED_SCRIPT] = (counts[ACCENTED_SCRIPT] as number) + accented * weight
}

/** For each word that `readWords` has read, and each mark between them: the sum of the costs; then -1. */
const ENDS = new Float64Array(MAX_CHARACTERS + 1)

/**
 * Reads ASCII words with single spaces and marks between them, which most texts consist of, and returns where
 * they end: before a word with other letters, and before what else is not of this form. Since nothing
 * predicts where words end, no branch depends on it: each sum is written, and those at the ends are kept.
 */
function readWords(from: number, to: number): number {
  let kind = KINDS[CODES[from] as number] as number
  let sum = PAIR_COSTS[kind] as number
  let words = 0
  let index = from + 1
  for (; index < to; index++) {
    const code = CODES[index] as number
    if (code >= ASCII) break
    const next = KINDS[code] as number
    const cost = PAIR_COSTS[kind * 64 + next] as number
    if (cost < 0) break
    sum += cost
    ENDS[words] = sum
    words += Number(next >= DIGIT)
    kind = next
  }
  // A space or a mark may be part of what follows.
  if (kind >= DIGIT) index--
  else if (index < to && (CODES[index] as number) >= ASCII)
    while (index > from && (KINDS[CODES[index - 1] as number] as number) < DIGIT) index--
  else ENDS[words++] = sum + (PAIR_COSTS[kind * 64] as number)
  ENDS[words] = -1
  return index
}

function endOf(kind: number, from: number, to: number): number {
  let index = from
  while (index < to && kindOf(CODES[index] as number) === kind) index++
  return index
}

function isAccented(kind: number): boolean {
  return kind === ACCENTED || kind === ACCENTED + 1
}

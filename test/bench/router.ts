/**
 * Measures learned routing on published answers of two models: `npm run bench:router -- --data FOLDER`. The
 * folder has CSV files of `prompt, weaker model right, stronger model right`, such as RouteLLM's
 * `routellm/evals/mmlu/responses`; each file is a subject. Prints the average performance gap recovered
 * (APGR: 0 is the weaker model, 1 the stronger one) on a fifth of the prompts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../../plugins/learned-routing/baselines.ts'
import {
  createFeatureKey,
  encodeFeatures,
  extractFeatures,
  type PromptFeatures,
} from '../../plugins/learned-routing/features.ts'
import { decodeWeights, predict } from '../../plugins/learned-routing/model.ts'
import type { Rating, TrainedRouter } from '../../plugins/learned-routing/rating.ts'
import {
  type BudgetSteps,
  createBudgetWalk,
  stepsByFigure,
  stepsByScore,
} from '../../plugins/learned-routing/strategies.ts'
import { trainRouter } from '../../plugins/learned-routing/train.ts'
import { createRandom, type Random } from '../support/random.ts'
import { parseCsv } from './parse-csv.ts'

interface Prompt {
  readonly subject: string
  readonly length: number
  readonly features: PromptFeatures
  readonly encoded: Uint8Array
  /** Of the weaker model, then of the stronger one: 0 or 1. */
  readonly scores: Float64Array
}

const MODELS = ['weaker', 'stronger'] as const
const COSTS = [0, 1]
const CATALOGUE = { weaker: { cost: 1, quality: 60 }, stronger: { cost: 20, quality: 90 } }
const RATED_PROMPTS = [500, 1000, 5000, Number.POSITIVE_INFINITY]
const SAMPLES = 500
/** A verdict needs several. */
const RATERS = 20

function readPrompts(folder: string): readonly Prompt[] {
  const key = createFeatureKey('bench')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.csv'))
    .sort()
    .flatMap((subject) =>
      parseCsv(readFileSync(path.join(folder, subject), 'utf8'))
        .slice(1)
        .map(([prompt = '', weaker, stronger]) => {
          const features = extractFeatures({ lastUserMessage: prompt }, key)
          return {
            subject,
            length: prompt.length,
            features,
            encoded: encodeFeatures(features),
            scores: Float64Array.of(Number(weaker === 'True'), Number(stronger === 'True')),
          }
        }),
    )
}

function shuffle<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => ({ item, order: random.integer(2 ** 31) }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

/** With `isOne`, each prompt has a rating of the model that happened to answer it. */
function toRatings(prompts: readonly Prompt[], isOne: boolean, random: Random): readonly Rating[] {
  return prompts.flatMap(({ encoded, scores }, time) => {
    const answered = random.integer(2)
    return MODELS.flatMap((model, at) =>
      isOne && at !== answered
        ? []
        : [{ model, score: scores[at] as number, features: encoded, time, user: time % RATERS }],
    )
  })
}

/** Formats the APGR of steps on prompts, with its interval. */
function formatApgr(steps: BudgetSteps, prompts: readonly Prompt[]): string {
  const scores = prompts.map((prompt) => prompt.scores)
  const meanOf = (model: number, weights: Float64Array) =>
    scores.reduce((sum, score, at) => sum + (score[model] as number) * (weights[at] as number), 0) /
    weights.reduce((sum, weight) => sum + weight, 0)
  const walk = createBudgetWalk(steps, scores, COSTS)
  const sampling = { samples: SAMPLES, seed: 1 }
  const [apgr] = bootstrap(new Float64Array(prompts.length).fill(1), sampling, (weights) => {
    const weaker = meanOf(0, weights)
    return [(walk.meanQuality(weights) - weaker) / (meanOf(1, weights) - weaker)]
  })
  const [value, low, high] = [apgr?.value, apgr?.low, apgr?.high].map((figure) => figure?.toFixed(3))
  return `${value} (${low} to ${high})`
}

function stepsOf({ models }: TrainedRouter, prompts: readonly Prompt[]): BudgetSteps {
  const weights = MODELS.map((model) => decodeWeights(models[model]?.weights ?? ''))
  const expected = prompts.map(({ features }) =>
    Float64Array.from(weights, (each) => predict(each, features)),
  )
  return stepsByScore(expected, COSTS)
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(58)}${figure}\n`)
}

function printTrained(what: string, ratings: readonly Rating[], prompts: readonly Prompt[]): void {
  const startedAt = performance.now()
  const router = trainRouter(ratings, { catalogue: CATALOGUE })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const bytes = Object.values(router.models).reduce((sum, { weights }) => sum + weights.length, 0)
  const { better, better_on_known_kinds } = router.figures
  const verdict = better ? 'better' : better_on_known_kinds ? 'better on known kinds' : 'not better'
  print(
    what,
    `${formatApgr(stepsOf(router, prompts), prompts)} ${verdict}, ${ratings.length} ratings, ` +
      `${seconds} s, ${Math.round(bytes / 1000)} KB`,
  )
}

function printBaselines(prompts: readonly Prompt[], random: Random): void {
  const scores = prompts.map((prompt) => prompt.scores)
  const lengths = prompts.map(({ length }) => length)
  const noise = prompts.map(() => random.integer(2 ** 31))
  print('  random', formatApgr(stepsByFigure(noise, COSTS), prompts))
  print('  prompt length', formatApgr(stepsByFigure(lengths, COSTS), prompts))
  print('  foresight', formatApgr(stepsByScore(scores, COSTS), prompts))
}

const { values } = parseArgs({
  options: { data: { type: 'string' }, seed: { type: 'string', default: '1' } },
})
if (values.data === undefined) throw new Error('--data takes a folder of CSV files.')
const random = createRandom(Number(values.seed))
const all = readPrompts(values.data)

const shuffled = shuffle(all, random)
const cut = Math.floor(all.length * 0.8)
const [known, judged] = [shuffled.slice(0, cut), shuffled.slice(cut)]
print(`${all.length} prompts, split at random`, 'APGR')
printBaselines(judged, random)
for (const count of RATED_PROMPTS) {
  const rated = known.slice(0, count)
  for (const isOne of [false, true]) {
    const what = `  ${rated.length} rated prompts, ${isOne ? 'one model each' : 'both models'}`
    printTrained(what, toRatings(rated, isOne, random), judged)
  }
}

const subjects = shuffle([...new Set(all.map(({ subject }) => subject))], random)
if (subjects.length >= 5) {
  const unseen = new Set(subjects.slice(0, Math.floor(subjects.length / 5)))
  const others = shuffled.filter(({ subject }) => !unseen.has(subject))
  const strange = shuffled.filter(({ subject }) => unseen.has(subject))
  print(`${unseen.size} of ${subjects.length} subjects, unseen`, 'APGR')
  printBaselines(strange, random)
  printTrained(`  ${others.length} rated prompts, both models`, toRatings(others, false, random), strange)
}

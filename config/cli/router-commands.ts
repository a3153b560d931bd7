import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { flatten, type ShownReport, type ShownRouter } from '../../plugins/learned-routing/schemas.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { formatColumns } from './output.ts'
import { withRouterTarget } from './router-target.ts'

/** `router train`: prints the figures of the new version. */
export function trainRouterVersion(args: CommandArgs): Promise<void> {
  const isJson = args.options.has('json')
  const group = parseGroup(args)
  return withRouterTarget(args, async (target) => {
    const router = await target.train(group)
    if (isJson) return args.print(JSON.stringify(router))
    args.print(`Trained version ${router.version}${router.is_active ? ', which is active now' : ''}.`)
    for (const line of formatFigures([[`VERSION ${router.version}`, router]])) args.print(line)
  })
}

/** `router report`: prints the figures of the active version and of the newest one. */
export function reportRouter(args: CommandArgs): Promise<void> {
  const isJson = args.options.has('json')
  const group = parseGroup(args)
  return withRouterTarget(args, async (target) => {
    const report = await target.report(group)
    if (isJson) return args.print(JSON.stringify(report))
    for (const line of formatReport(report)) args.print(line)
  })
}

/** `router activate VERSION`. */
export function activateRouter(args: CommandArgs): Promise<void> {
  const version = args.operands[0] ?? ''
  if (!/^[1-9]\d{0,8}$/.test(version)) throw new UsageError('VERSION must be the number of a version.')
  return withRouterTarget(args, async (target) => {
    await target.activate(Number(version))
    args.print(`Version ${version} is active.`)
  })
}

/** `router rollback`. */
export function rollBackRouter(args: CommandArgs): Promise<void> {
  const group = parseGroup(args)
  return withRouterTarget(args, async (target) => {
    const { version } = await target.rollBack(group)
    args.print(version === null ? 'No version is active.' : `Version ${version} is active again.`)
  })
}

function parseGroup({ options }: CommandArgs): number | undefined {
  const group = options.get('group')
  if (group === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(group)) return Number(group)
  throw new UsageError('GROUP must be the id of a group.')
}

function formatReport({ active, candidate, verdict }: ShownReport): readonly string[] {
  const columns: (readonly [string, ShownRouter])[] = []
  if (active) columns.push([`ACTIVE ${active.version}`, active])
  if (candidate) columns.push([`CANDIDATE ${candidate.version}`, candidate])
  return [...formatFigures(columns), verdict]
}

/** One line per figure, one column per version. */
function formatFigures(columns: readonly (readonly [string, ShownRouter])[]): readonly string[] {
  const figures = columns.map(([, router]) => flatten(listFigures(router)))
  const names = [...new Set(figures.flatMap((values) => [...values.keys()]))]
  if (names.length === 0) return []
  return formatColumns([
    ['', ...columns.map(([title]) => title)],
    ...names.map((name) => [name, ...figures.map((values) => formatFigure(values.get(name)))]),
  ])
}

function listFigures({ figures, models, trained_from }: ShownRouter): JsonObject {
  const ratings = Object.fromEntries(models.map((model) => [`ratings of ${model.model}`, model.ratings]))
  return { ...figures, ...listQualities(figures), trained_from, ...ratings }
}

const SHOWN_SHARES = [0.25, 0.5, 0.75]

/** Reads the curves of quality against cost at some shares of the cost. */
function listQualities({ strategies }: JsonObject): JsonObject {
  if (!isJsonObject(strategies)) return {}
  const qualities = Object.entries(strategies).flatMap(([name, strategy]) => {
    const curve = isJsonObject(strategy) ? (strategy.curve as Curve | undefined) : undefined
    if (curve === undefined || curve.length < 2) return []
    const what = name === 'version' ? 'the version' : name
    return SHOWN_SHARES.map((share) => {
      return [`quality of ${what} at ${share * 100} % of the cost`, qualityAt(curve, share)] as const
    })
  })
  return Object.fromEntries(qualities)
}

type Curve = readonly (readonly [cost: number, quality: number])[]

/** Between two points of the curve, prompts of both are mixed. */
function qualityAt(curve: Curve, share: number): number {
  const at = Math.max(
    1,
    curve.findIndex(([cost]) => cost >= share),
  )
  const [[fromCost, from], [toCost, to]] = [curve[at - 1], curve[at]] as [Curve[number], Curve[number]]
  return toCost === fromCost ? to : from + ((share - fromCost) / (toCost - fromCost)) * (to - from)
}

function formatFigure(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(4) : String(value)
}

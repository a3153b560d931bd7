import { type Attributes, GatewayError, type Requirement, type Target } from '../../core/contract/index.ts'

/** The fields of attributes and requirements, in the order in which messages name them. */
export const ATTRIBUTE_NAMES = ['region', 'zdr', 'retention_days', 'trains_on_data'] as const

/**
 * Whether attributes meet a requirement (docs/guides/data-residency.md). An attribute that is not stated
 * meets none.
 */
export function satisfies(requirement: Requirement | undefined, attributes: Attributes): boolean {
  return requirement === undefined || findUnmet(requirement, attributes) === undefined
}

/** Returns the first field of a requirement that attributes do not meet. */
export function findUnmet(
  requirement: Requirement,
  { region, zdr, retention_days, trains_on_data }: Attributes,
): keyof Attributes | undefined {
  if (!regionsOf(requirement).every((wanted) => region !== undefined && isWithinRegion(region, wanted)))
    return 'region'
  if (requirement.zdr !== undefined && zdr !== requirement.zdr) return 'zdr'
  if (
    requirement.retention_days !== undefined &&
    !((retention_days ?? Infinity) <= requirement.retention_days)
  )
    return 'retention_days'
  if (requirement.trains_on_data !== undefined && trains_on_data !== requirement.trains_on_data)
    return 'trains_on_data'
}

type StatedAttributes = { readonly [Name in keyof Attributes]: Attributes[Name] | undefined }

/**
 * Returns the attributes that the sources state. The first source that states an attribute decides, so the
 * most specific comes first: the deployment, the row of the model, the row of the provider.
 */
export function attributesOf(...sources: readonly (StatedAttributes | undefined)[]): Attributes {
  const stated: Record<string, unknown> = {}
  for (const name of ATTRIBUTE_NAMES)
    for (const source of sources) if (source?.[name] !== undefined) stated[name] ??= source[name]
  return stated
}

/** Returns the requirement that demands all that both demand. */
export function mergeRequirements(one: Requirement | undefined, other: Requirement): Requirement {
  if (one === undefined) return other
  const regions = [...new Set([...regionsOf(one), ...regionsOf(other)])]
  // A region within another demands more.
  const narrowest = regions.filter(
    (region) => !regions.some((inner) => inner !== region && isWithinRegion(inner, region)),
  )
  const days = Math.min(one.retention_days ?? Infinity, other.retention_days ?? Infinity)
  return {
    ...one,
    ...other,
    ...(narrowest.length > 0 && { region: narrowest.length === 1 ? narrowest[0] : narrowest }),
    ...(days < Infinity && { retention_days: days }),
  }
}

/** What the attributes of a target depend on besides its entry. */
interface AttributedProvider {
  readonly attributes?: Attributes | undefined
  readonly deployments?: { readonly members: readonly AttributedDeployment[] } | undefined
}

interface AttributedDeployment {
  readonly id: string
  readonly options: Attributes
}

/** Whether a target meets a requirement: its deployment, or without one, any deployment of its provider. */
export function meetsRequirement(
  requirement: Requirement | undefined,
  target: Pick<Target, 'entry' | 'deployment'>,
  provider?: AttributedProvider,
): boolean {
  if (requirement === undefined) return true
  return attributesAt(target, provider).some((attributes) => satisfies(requirement, attributes))
}

/** Returns the attributes of a target that all deployments of its provider have. */
export function commonAttributes(
  target: Pick<Target, 'entry'>,
  provider: AttributedProvider | undefined,
): Attributes {
  const [first = {}, ...others] = attributesAt(target, provider)
  const isCommon = (name: keyof Attributes) => others.every((other) => other[name] === first[name])
  return attributesOf(Object.fromEntries(ATTRIBUTE_NAMES.filter(isCommon).map((name) => [name, first[name]])))
}

/** The attributes of a target at its deployment, or at each deployment of its provider. */
function attributesAt(
  { entry, deployment }: Pick<Target, 'entry' | 'deployment'>,
  provider: AttributedProvider | undefined,
): readonly Attributes[] {
  const members = provider?.deployments?.members.filter(({ id }) => (deployment ?? id) === id)
  if (members === undefined) return [attributesOf(entry, provider?.attributes)]
  return members.map(({ options }) => attributesOf(options, entry, provider?.attributes))
}

/** The 503 if no target may be used; only the operator can change that. `what` begins a sentence. */
export function requirementError(what: string, requirement: Requirement): GatewayError {
  const message = `${what} what the rules require of it (require: ${describeRequirement(requirement)}).`
  return new GatewayError('no_providers_available', message, { headers: { 'x-should-retry': 'false' } })
}

/** Describes a requirement, such as `region eu, zdr, retention_days 0`. */
export function describeRequirement(requirement: Requirement): string {
  const { zdr, retention_days, trains_on_data } = requirement
  return [
    ...regionsOf(requirement).map((region) => `region ${region}`),
    ...(zdr === undefined ? [] : [zdr ? 'zdr' : 'zdr false']),
    ...(retention_days === undefined ? [] : [`retention_days ${retention_days}`]),
    ...(trains_on_data === undefined ? [] : [`trains_on_data ${trains_on_data}`]),
  ].join(', ')
}

function regionsOf({ region }: Requirement): readonly string[] {
  const regions = region === undefined ? [] : typeof region === 'string' ? [region] : region
  return regions.map((name) => name.toLowerCase())
}

/**
 * Whether a region is the wanted one or one of its members: a region whose name continues the wanted one
 * after a dash, as `us-east-1` continues `us`; for `eu`, one of the clouds' regions in the European Union.
 */
export function isWithinRegion(region: string, wanted: string): boolean {
  const [name, whole] = [region.toLowerCase(), wanted.toLowerCase()]
  if (name === whole) return true
  return whole === 'eu' ? EU_REGIONS.has(name) : name.startsWith(`${whole}-`)
}

/**
 * The regions of AWS, Google Cloud and Azure in the European Union. Names alone do not tell: `eu-west-2` and
 * `europe-west2` are London, `eu-central-2` and `europe-west6` Zurich.
 */
const EU_REGIONS: ReadonlySet<string> = new Set([
  ...['eu-central-1', 'eu-north-1', 'eu-south-1', 'eu-south-2', 'eu-west-1', 'eu-west-3', 'eusc-de-east-1'],
  ...['europe-central2', 'europe-north1', 'europe-north2', 'europe-southwest1', 'europe-west1'],
  ...['europe-west3', 'europe-west4', 'europe-west8', 'europe-west9', 'europe-west10', 'europe-west12'],
  ...['austriaeast', 'belgiumcentral', 'denmarkeast', 'francecentral', 'francesouth', 'germanynorth'],
  ...['germanywestcentral', 'italynorth', 'northeurope', 'polandcentral', 'spaincentral', 'swedencentral'],
  ...['swedensouth', 'westeurope'],
])

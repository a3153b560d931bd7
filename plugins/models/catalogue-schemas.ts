import { MODES, Nullable, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields } from '../../core/http/schemas.ts'
import { CapabilitiesSchema, PriceSchema } from './schemas.ts'

const optionalText = (description: string) => Nullable(Type.String(), { description })
const weight = (what: string) => Type.Number({ description: `Weight of ${what}. Only the ratio matters.` })

/** A price here and elsewhere. */
export const PriceDifference = Type.Object(
  {
    change: StringEnum(['dearer', 'cheaper', 'differs', 'missing here', 'missing there'], {
      description: 'How the other price differs from that of the catalogue, or where the model is missing.',
    }),
    provider: Type.String({ description: 'The provider.' }),
    model: Type.String({ description: 'The model.' }),
    price: Type.String({
      description: 'Such as input or above output; empty for a model that is on one side only.',
    }),
    here: Nullable(Type.Number(), {
      description: 'In the catalogue, in USD per million tokens; null if it has none.',
    }),
    there: Nullable(Type.Number(), {
      description: 'In what it is compared with, in USD per million tokens; null if it has none.',
    }),
  },
  { $id: 'PriceDifference', description: 'A price that differs from that of the catalogue.' },
)

export const PriceComparisonSchema = Type.Object(
  {
    source: Type.String({ description: 'The list, without what may be secret in its address.' }),
    compared: Type.Integer({ minimum: 0, description: 'How many models of the catalogue the list has.' }),
    differences: Type.Array(PriceDifference, { description: 'The differences.' }),
  },
  { $id: 'PriceComparison', description: 'The catalogue compared with a list of prices.' },
)

const CatalogueModel = Type.Object(
  {
    provider: Type.String({ description: 'The provider.' }),
    id: Type.String({ description: 'The name at the provider.' }),
    aliases: Type.Array(Type.String(), { description: 'Other names of the model.' }),
    operation: StringEnum(['chat', 'embeddings', 'moderation'], { description: 'What the model does.' }),
    state: StringEnum(['available', 'not_configured', 'retired'], {
      description:
        'Whether requests can be sent to it, its provider has no key, or the provider no longer serves it.',
    }),
    source: StringEnum(['shipped', 'updated', 'settings'], {
      description:
        'Where the row is: in the shipped catalogue, in models.yaml of the data folder, or in the settings.',
    }),
    price: PriceSchema,
    changed_prices: Type.Array(PriceDifference, {
      description: 'Prices that differ from those of the shipped catalogue.',
    }),
    context: Type.Integer({ description: 'Size of the context, in tokens.' }),
    max_output: Type.Integer({ description: 'Maximum length of a reply, in tokens.' }),
    quality: Type.Number({ description: 'Quality for automatic routing, from 0 to 100.' }),
    latency_ms: Type.Number({ description: 'Time to a short reply by the catalogue, in milliseconds.' }),
    expected_latency_ms: Type.Number({
      description: 'The time that routing expects, in milliseconds: measured once there were replies.',
    }),
    capabilities: CapabilitiesSchema,
    reasoning: Type.Boolean({ description: 'Whether it is a reasoning model.' }),
    sampling: Type.Boolean({ description: 'Whether it takes temperature, top_p and the like.' }),
    automatic: Type.Boolean({ description: 'Whether automatic routing may choose it for everybody.' }),
    retires: optionalText('The day from which the provider no longer serves it; null if none is known.'),
    region: optionalText('Where requests are processed; null if it is not stated.'),
    zdr: Nullable(Type.Boolean(), {
      description: 'Whether zero data retention is agreed; null if it is not stated.',
    }),
    retention_days: Nullable(Type.Number(), {
      description: 'Days for which the provider keeps data; null if it is not stated.',
    }),
    trains_on_data: Nullable(Type.Boolean(), {
      description: 'Whether the provider trains models on data; null if it is not stated.',
    }),
    quirks: AnyFields('What is special about the API of the model.'),
  },
  { $id: 'CatalogueModel', description: 'A row of the catalogue as it is in force.' },
)

const RoutingMode = Type.Object(
  {
    mode: StringEnum(MODES, { description: 'The mode, which requests name as auto: with it.' }),
    aliases: Type.Array(Type.String(), { description: 'Other names of the mode in the settings.' }),
    cost: weight('the price'),
    quality: weight('the quality'),
    latency: weight('the latency'),
  },
  { $id: 'RoutingMode', description: 'What automatic routing looks at in a mode.' },
)

export const CatalogueSchema = Type.Object(
  {
    models: Type.Array(CatalogueModel, { description: 'All models, also those of providers without a key.' }),
    modes: Type.Array(RoutingMode, { description: 'The modes of automatic routing.' }),
    price_list: Type.String({ description: 'The list that prices are compared with when asked to.' }),
    updated: Nullable(
      Type.Object({
        date: Type.String({ description: 'The day.' }),
        source: Type.String({ description: 'The list that was applied.' }),
      }),
      { description: 'When "signalbox models update" last wrote models.yaml; null if there is none.' },
    ),
  },
  { $id: 'Catalogue', description: 'The catalogue of models, and how routing weighs them.' },
)

export type ShownModel = Static<typeof CatalogueModel>
export type ShownDifference = Static<typeof PriceDifference>

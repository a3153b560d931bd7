import { StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields } from '../../core/http/schemas.ts'

const usd = (what: string) => Type.Number({ description: `${what}, in USD per million tokens.` })

export const PriceSchema = Type.Object(
  {
    input: usd('Price of input tokens'),
    cached: Type.Optional(usd('Price of cached input tokens')),
    cache_write: Type.Optional(usd('Price of input tokens that are written to the cache')),
    output: usd('Price of output tokens'),
    above: Type.Optional(AnyFields('Prices of long prompts.')),
  },
  { $id: 'Price', description: 'Prices of a model, in USD per million tokens.' },
)

export const CapabilitiesSchema = Type.Object(
  {
    tools: Type.Boolean({ description: 'The model can call tools.' }),
    images: Type.Boolean({ description: 'The model reads images.' }),
    json: StringEnum(['none', 'object', 'schema'], { description: 'JSON modes of the model.' }),
  },
  { $id: 'ModelCapabilities', description: 'What a model can do.' },
)

export const ModelSchema = Type.Object(
  {
    id: Type.String({ description: 'Name of the model, or auto: with a routing mode.' }),
    object: Type.Literal('model', { description: 'Always model.' }),
    created: Type.Integer({ description: 'Unix time in seconds; 0 because it is not known.' }),
    owned_by: Type.String({ description: 'The provider, or signalbox for a routing mode.' }),
    provider: Type.Optional(Type.String({ description: 'The provider. Missing for routing modes.' })),
    aliases: Type.Optional(Type.Array(Type.String(), { description: 'Other names of the model.' })),
    operation: Type.Optional(
      StringEnum(['chat', 'embeddings', 'moderation'], { description: 'What the model does.' }),
    ),
    dimensions: Type.Optional(AnyFields('Lengths of the vectors of an embedding model.')),
    context: Type.Optional(Type.Integer({ description: 'Size of the context, in tokens.' })),
    max_output: Type.Optional(Type.Integer({ description: 'Maximum length of a reply, in tokens.' })),
    price: Type.Optional(PriceSchema),
    quality: Type.Optional(Type.Number({ description: 'Quality for automatic routing, from 0 to 1.' })),
    capabilities: Type.Optional(CapabilitiesSchema),
    retires: Type.Optional(
      Type.String({ description: 'The day from which the provider no longer serves the model.' }),
    ),
    region: Type.Optional(Type.String({ description: 'Where requests are processed, if it is stated.' })),
    zdr: Type.Optional(
      Type.Boolean({ description: 'Whether zero data retention is agreed, if it is stated.' }),
    ),
    retention_days: Type.Optional(
      Type.Number({ description: 'Days for which the provider keeps data, if it is stated.' }),
    ),
    trains_on_data: Type.Optional(
      Type.Boolean({ description: 'Whether the provider trains models on data, if it is stated.' }),
    ),
  },
  { $id: 'Model', description: 'A model or routing mode.' },
)

export const ModelList = Type.Object(
  {
    object: Type.Literal('list', { description: 'Always list.' }),
    data: Type.Array(ModelSchema, { description: 'Routing modes, then models.' }),
  },
  { $id: 'ModelList', description: 'All models.' },
)

import { type InferenceDescription, type TSchema, Type } from '../../contract/index.ts'
import { replyExtensions } from '../chat/response-schemas.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { OpenObject, Text } from '../schema-types.ts'
import { moderationsRequestSchema } from './request-schema.ts'
import { CATEGORIES } from './response.ts'

/** Providers add categories of their own. */
function byCategory(value: TSchema, name: string, description: string) {
  const properties = Object.fromEntries(Object.keys(CATEGORIES).map((category) => [category, value]))
  return OpenObject(properties, { $id: name, description })
}

const ModerationResult = OpenObject(
  {
    flagged: Type.Boolean({ description: 'Whether any category applies.' }),
    categories: byCategory(
      Type.Boolean({ description: 'Whether the category applies.' }),
      'ModerationCategories',
      'Whether each category applies; false for those that the provider does not have.',
    ),
    category_scores: byCategory(
      Type.Number({ description: 'Score of the category, from 0 to 1.' }),
      'ModerationScores',
      'The score of each category.',
    ),
    category_applied_input_types: byCategory(
      Type.Array(Type.String(), { description: 'Kinds of input.' }),
      'ModerationInputTypes',
      'The kinds of input that each category was judged by.',
    ),
  },
  { $id: 'ModerationResult', description: 'The judgement of a text.' },
)

const Moderation = OpenObject(
  {
    id: Text('Id of the judgement.'),
    model: Text('The model that judged.'),
    results: Type.Array(ModerationResult, { description: 'The judgements, in the order of the texts.' }),
    ...replyExtensions,
  },
  { $id: 'Moderation', description: 'The judgements of texts.' },
)

/** How `/openapi.json` describes `POST /v1/moderations`. */
export const moderationsDescription: InferenceDescription = {
  operationId: 'createModeration',
  summary: "Judges texts in OpenAI's format, with models of OpenAI and Mistral.",
  description: 'Rules, budgets and limits apply as they do to chat completions.',
  tags: ['inference'],
  headers: inferenceHeaders,
  body: moderationsRequestSchema,
  examples: {
    text: { input: 'The train departs from track 9.' },
    several: { model: 'mistral-moderation-latest', input: ['Track 9', 'Track 10'] },
  },
  responses: { 200: { description: 'The judgements.', headers: replyHeaders, body: Moderation } },
}

import { type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, NextCursor, pageQuery, TimeParameter } from '../../core/http/schemas.ts'
import { feedbackFields, nullableText, scoreBound, userFilter } from '../ledger/index.ts'

const MAX_COMMENT_CHARS = 2000

const name = Type.String({
  pattern: '^[a-z][a-z0-9_-]{0,49}$',
  default: 'quality',
  description: 'What the score is about: lower-case letters, digits, _ and -. Routers learn from quality.',
  examples: ['quality'],
})

export const FeedbackInput = StrictObject(
  {
    request_id: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'The id of the answer (resp_…, chatcmpl-…, msg_…), or the x-request-id of the response.',
      examples: ['req_gGvBxwr2CTTZ4RYVqXhM0SkL'],
    }),
    name: Type.Optional(name),
    score: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: 'From 0 (bad) to 1 (good).', examples: [0.8] }),
    ),
    value: Type.Optional(
      Type.Boolean({ description: 'In place of score: true is 1, false is 0.', examples: [true] }),
    ),
    comment: Type.Optional(
      Type.String({ maxLength: MAX_COMMENT_CHARS, description: 'Why, in words.', examples: ['Precise.'] }),
    ),
  },
  { $id: 'FeedbackInput', description: 'What you say about the reply to a request: a score or a value.' },
)

export type FeedbackInputValues = Static<typeof FeedbackInput>

export const FeedbackSchema = Type.Object(
  {
    x_request_id: Type.String({ description: 'Id of the request.' }),
    user_id: Count('Id of the user of the request.'),
    ...feedbackFields,
  },
  { $id: 'Feedback', description: 'What was said about the reply to a request.' },
)

const ListedFeedback = Type.Object(
  {
    ...FeedbackSchema.properties,
    provider: nullableText('The provider that replied.'),
    model: nullableText('The model that replied.'),
  },
  { $id: 'ListedFeedback', description: 'What was said about the reply of a model.' },
)

export const FeedbackPageSchema = Type.Object(
  {
    data: Type.Array(ListedFeedback, { description: 'The feedback, newest requests first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'FeedbackPage', description: 'A page of feedback.' },
)

export const FEEDBACK_PAGE = { default: 50, max: 1000 } as const

export const feedbackQuery = {
  user: userFilter,
  name: Type.Optional(Type.String({ description: 'What the score is about.', examples: ['quality'] })),
  model: Type.Optional(Type.String({ description: 'The model that replied.', examples: ['gpt-4o'] })),
  min_score: scoreBound('The lowest score.'),
  max_score: scoreBound('The highest score.'),
  since: Type.Optional(TimeParameter('Requests that arrived at or after this time.')),
  until: Type.Optional(TimeParameter('Requests that arrived before this time.')),
  ...pageQuery(FEEDBACK_PAGE, 'ZmVlZGJhY2s6NzpxdWFsaXR5'),
}

export const importQuery = {
  format: Type.Optional(
    StringEnum(['json', 'jsonl'], {
      default: 'json',
      description:
        'json: one rating of a request. jsonl: any number of rated prompts, one per line: ' +
        '{"prompt": "…", "model": "…", "score": 0.8}, and optionally "system": the system prompt.',
    }),
  ),
}

export const ImportResultSchema = Type.Object(
  {
    imported: Count('Lines that were imported.'),
    rejected: Count('Lines with an error.'),
    errors: Type.Array(
      Type.Object({
        line: Count('Number of the line, from 1.'),
        message: Type.String({ description: 'What is wrong with it.' }),
      }),
      { description: 'The first 100 errors.' },
    ),
  },
  { $id: 'FeedbackImport', description: 'What became of the lines of an import.' },
)

export const DeletedImport = Type.Object(
  { deleted: Count('Ratings that were deleted.') },
  { $id: 'DeletedImport', description: 'What was deleted.' },
)

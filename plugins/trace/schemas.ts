import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, RuleTraceEntrySchema, Timestamp, WarningSchema } from '../../core/http/schemas.ts'

const nullableText = (description: string) => Nullable(Type.String(), { description })

/** What `toRecordedError` returns. */
export const RecordedErrorSchema = Type.Object(
  {
    code: Type.String({ description: 'The error code (header x-error-code).' }),
    http_status: Type.Integer({ description: 'The HTTP status of the response.' }),
    message: Type.Optional(Type.String({ description: 'What happened. Missing for internal errors.' })),
    param: Type.Optional(Type.String({ description: 'Path of the invalid field.' })),
    meta: Type.Optional(
      Type.Object(
        {
          rule_id: Type.Optional(
            Type.Integer({
              format: 'int64',
              description: 'The firewall rule that blocked the request; negative for a draft.',
            }),
          ),
        },
        { description: 'Details for programs.' },
      ),
    ),
  },
  { $id: 'RecordedError', description: 'Why a request was refused or failed.' },
)

const AttemptSchema = Type.Object(
  {
    provider: Type.String({ description: 'The provider.' }),
    model: Type.String({ description: 'The model.' }),
    outcome: Type.String({ description: 'ok, cancelled, or an error code.' }),
    ms: Type.Integer({ description: 'Duration in milliseconds.' }),
  },
  { $id: 'Attempt', description: 'One call to a provider.' },
)

export const RequestRecordSchema = Type.Object(
  {
    x_request_id: Type.String({ description: 'Id of the request.' }),
    time: Timestamp('When the request ended.'),
    outcome: StringEnum(['answered', 'failed'], { description: 'Whether the request was answered.' }),
    error: Type.Optional(RecordedErrorSchema),
    requested_model: nullableText('The model as the caller named it; null if it named none.'),
    routing_mode: nullableText('The routing mode; null if the request failed before routing.'),
    routing_reason: nullableText('Why the model was chosen, as a sentence.'),
    provider: nullableText('The provider that answered.'),
    model: nullableText('The model that answered.'),
    attempts: Type.Array(AttemptSchema, { description: 'The calls to providers, in order.' }),
    rules_position: Count('Log position of the rules that decided the request.'),
    rule_trace: Type.Array(RuleTraceEntrySchema, { description: 'The outcome of every rule.' }),
    warnings: Type.Array(WarningSchema, { description: 'Warnings of the response.' }),
  },
  { $id: 'RequestRecord', description: 'What happened to a request. Contains no text of it.' },
)

import { Nullable, Type } from '../../contract/index.ts'
import { AnyObject, Constant, ModelName, OpenObject, Text, Variants } from '../schema-types.ts'

/** As OpenAI's API. */
const MAX_INPUTS = 2048

const inputText = Type.String({ minLength: 1, description: 'A text.' })

const ModerationPart = Variants(
  'type',
  [
    OpenObject(
      { type: Constant('text'), text: inputText },
      { $id: 'ModerationText', description: 'A text.' },
    ),
    OpenObject(
      {
        type: Constant('image_url'),
        image_url: OpenObject(
          { url: Text('URL of the image, or a data URL.') },
          { description: 'The image.' },
        ),
      },
      { $id: 'ModerationImage', description: 'An image, for models of OpenAI.' },
    ),
  ],
  { isClosed: true, $id: 'ModerationPart', description: 'A text or an image.' },
)

type Part = (typeof ModerationPart)['static']

const input = Type.Unsafe<string | readonly string[] | readonly Part[]>(
  Type.Union(
    [
      inputText,
      Type.Array(inputText, { minItems: 1, maxItems: MAX_INPUTS, description: 'Several texts.' }),
      Type.Array(ModerationPart, { minItems: 1, description: 'Texts and images that are judged together.' }),
    ],
    { description: 'What is judged.' },
  ),
)

/** The body of `POST /v1/moderations` (docs/api.md, "Moderations"). Unknown fields are passed through. */
export const moderationsRequestSchema = OpenObject(
  {
    model: Type.Optional(ModelName),
    input,
    metadata: Type.Optional(Nullable(AnyObject('Metadata'), { description: 'Metadata for routing rules.' })),
  },
  { $id: 'ModerationRequest', description: 'A request to judge texts.' },
)

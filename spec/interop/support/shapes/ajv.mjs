// ajv.mjs _ MODULES: has ajv (in the folder MODULES) judge values by JSON Schemas, draft 2020-12. Standard input is a JSON
// array of {schema, text}; prints a JSON array, an element a value: true, false (it does not fit), "not json" or
// "schema: …", where ajv refuses the schema. Formats are not judged. A number that JavaScript reads as Infinity is
// "not json": no program could write that value as JSON again.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[3] + '/');
const { default: Ajv } = require('ajv/dist/2020');

function finite(_, member) {
  if (member === Infinity || member === -Infinity) throw new RangeError('a number is too large');
  return member;
}

function judged({ schema, text }) {
  let value, validate;
  try { value = JSON.parse(text, finite); } catch { return 'not json'; }
  try { validate = new Ajv({ strict: false, validateFormats: false, strictNumbers: true }).compile(schema); } catch (e) {
    return 'schema: ' + e.message;
  }
  return validate(value);
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(judged)));

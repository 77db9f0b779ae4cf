// The page of kept calls: the list, or one call, by the URL's fragment, which is not sent to the server.

import { CallList } from "./call-list.js";
import { CallView } from "./call-view.js";
import { openWith } from "./calls-api.js";

/** Errors after which filters and an empty list would have no meaning. */
const NO_LIST = new Set(["not_kept", "key_needed", "invalid_api_key"]);

const $ = (id) => document.getElementById(id);
const list = new CallList({ form: $("filters"), rows: $("rows"), empty: $("empty"), older: $("older") }, show);
const call = new CallView($, show);

/** "#/ID" is a call, "#/ID@12.3" opens it at that second, anything else is the list. */
function route() {
  const [id, atS] = location.hash.replace(/^#\/?/, "").split("@");
  document.body.dataset.view = id ? "call" : "list";
  $("list").hidden = Boolean(id);
  $("call").hidden = !id;
  $("problem").hidden = true;
  document.title = id ? `Call ${id} · voiceagent` : "Calls · voiceagent";
  if (id) {
    list.close();
    scrollTo(0, 0);
    call.open(id, Number.parseFloat(atS));
  } else {
    call.close();
    list.open();
  }
}

function show(error) {
  $("problem").hidden = false;
  $("problem").dataset.code = error.code;
  $("problem-title").textContent = `${error.message}.`;
  $("problem-advice").textContent = error.advice ?? "";
  $("key-form").hidden = error.code !== "invalid_api_key";
  if (error.code === "invalid_api_key") $("key").focus();
  if (error.code !== "cannot_replay") $("call").hidden = true;
  if (NO_LIST.has(error.code)) $("list").hidden = true;
}

let tried = 0;

async function withKey(event) {
  event.preventDefault();
  const attempt = (tried += 1);
  try {
    await openWith($("key").value);
  } catch (error) {
    if (attempt === tried) show(error); // a later key is being tried, or was accepted
    return;
  }
  $("key").value = "";
  route();
}

$("key-form").addEventListener("submit", withKey);
addEventListener("hashchange", route);
route();

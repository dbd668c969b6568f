//! Irregular English forms and the base form that they are indexed as.

use super::word_list::WordList;

/// Form and base form, sorted by form. Verbs and plurals that no suffix rule reaches, and a few pairs
/// that people use for one another so freely in chat that they are one word here (mom and mother, pic and photo).
pub(super) const IRREGULAR: WordList = WordList(
    "ate:eat became:become began:begin begun:begin bent:bend best:good better:good bike:bicycle bikes:bicycle \
    bit:bite bitten:bite blew:blow blown:blow bought:buy broke:break broken:break brought:bring built:build \
    burnt:burn came:come caught:catch children:child chose:choose chosen:choose dad:father daddy:father dads:father \
    dealt:deal drank:drink drawn:draw dreamt:dream drew:draw driven:drive drove:drive drunk:drink dug:dig eaten:eat \
    fallen:fall fed:feed feet:foot fell:fall felt:feel flew:fly flown:fly forgave:forgive forgiven:forgive \
    forgot:forget forgotten:forget fought:fight found:find froze:freeze frozen:freeze gave:give given:give goes:go \
    gone:go got:get gotten:get grew:grow grown:grow halves:half heard:hear held:hold hid:hide hidden:hide hung:hang \
    kept:keep kid:child kids:child knew:know knives:knife known:know laid:lay learnt:learn led:lead left:leave \
    lent:lend lit:light lives:life lost:lose made:make meant:mean men:man met:meet mice:mouse mistaken:mistake \
    mistook:mistake mom:mother mommy:mother moms:mother mum:mother overcame:overcome paid:pay people:person \
    persons:person photograph:photo photographs:photo pic:photo pics:photo picture:photo pictures:photo ran:run \
    rang:ring ridden:ride risen:rise rode:ride rung:ring said:say sang:sing sank:sink sat:sit saw:see seen:see \
    sent:send shaken:shake shelves:shelf shone:shine shook:shake shot:shoot slept:sleep sold:sell sought:seek \
    spent:spend spoke:speak spoken:speak stole:steal stolen:steal stood:stand struck:strike stuck:stick sung:sing \
    sunk:sink swam:swim swore:swear sworn:swear swum:swim taken:take taught:teach teeth:tooth thought:think \
    threw:throw thrown:throw told:tell took:take tore:tear torn:tear tv:television understood:understand went:go \
    wives:wife woke:wake woken:wake women:woman won:win wore:wear worn:wear worse:bad worst:bad written:write \
    wrote:write",
);
